import { OrderBookError } from '../errors.ts';
import type { QuoteCandidate } from './quote-candidate.ts';

/** Why there is no quote: the fee is not covered, a source knows that nobody can trade this, or nobody has a price. */
export function noQuoteError(
  uncovered: QuoteCandidate | undefined,
  rejections: readonly OrderBookError[],
): OrderBookError {
  if (uncovered === undefined) return rejections[0] ?? new OrderBookError('NoLiquidity');
  const fee = uncovered.fee.toString();
  return new OrderBookError('SellAmountDoesNotCoverFee', `the fee is ${fee}, more must be sold`, { fee_amount: fee });
}

/** The answer to whoever still waits when the book closes: another one, or the same a little later, may know better. */
export function shuttingDownError(): OrderBookError {
  return new OrderBookError('InternalServerError', '');
}

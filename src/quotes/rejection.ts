import { OrderBookError } from '../errors.ts';
import type { QuoteCandidate } from './quote-candidate.ts';

/**
 * Creates the rejection when there is no quote: the fee is not covered, a token is unsupported, or there is no price.
 */
export function createNoQuoteError(
  uncovered: QuoteCandidate | undefined,
  rejections: readonly OrderBookError[],
): OrderBookError {
  if (uncovered === undefined) return findReason(rejections) ?? new OrderBookError('NoLiquidity');
  const fee = uncovered.fee.toString();
  const description = `the sell amount must be more than the fee of ${fee}`;
  return new OrderBookError('SellAmountDoesNotCoverFee', description, { fee_amount: fee });
}

/** Returns the most specific rejection: a solver's reason, then an unsupported token. */
function findReason(rejections: readonly OrderBookError[]): OrderBookError | undefined {
  return rejections.find(({ detail }) => detail !== undefined) ?? rejections[0];
}

/** Creates the retryable rejection for callers that wait when the book closes. */
export function createShutdownError(): OrderBookError {
  return new OrderBookError('InternalServerError', '');
}

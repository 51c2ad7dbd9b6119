import { OrderBookError } from '../errors.ts';
import type { Address } from '../protocol/hex.ts';
import type { RaceSubscription } from './estimator-race.ts';
import type { QuoteCandidate } from './quote-candidate.ts';

/** The results of estimators that decide why there is no price. */
type Results = Pick<RaceSubscription<unknown>, 'rejections' | 'failed'>;

/**
 * Creates the rejection when there is no quote: the fee is not covered, a token is unsupported, or there is no price.
 */
export function createNoQuoteError(uncovered: QuoteCandidate | undefined, results: Results): OrderBookError {
  if (uncovered === undefined) return findReason(results.rejections) ?? createNoPriceError(results);
  const fee = uncovered.fee.toString();
  const description = `the sell amount must be more than the fee of ${fee}`;
  return new OrderBookError('SellAmountDoesNotCoverFee', description, { fee_amount: fee });
}

/** Returns the most specific rejection: a solver's reason, then an unsupported token. */
function findReason(rejections: readonly OrderBookError[]): OrderBookError | undefined {
  return rejections.find(({ detail }) => detail !== undefined) ?? rejections[0];
}

/** Creates the rejection without a price. `data.temporary` shows that an estimator has failed or is late. */
export function createNoPriceError({ failed }: Results, token?: Address): OrderBookError {
  const data = { ...(token === undefined ? {} : { token }), ...(failed ? { temporary: true } : {}) };
  const description = token === undefined ? undefined : `no source has a price for ${token}`;
  return new OrderBookError('NoLiquidity', description, Object.keys(data).length === 0 ? undefined : data);
}

/** Creates the retryable rejection for callers that wait when the book closes. */
export function createShutdownError(): OrderBookError {
  return new OrderBookError('InternalServerError', '');
}

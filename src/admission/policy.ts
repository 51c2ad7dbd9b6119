import { AbortedError, type DeadlineLimiter, QueueFullError, type QueueOptions } from '../concurrency/abort.ts';
import { OrderBookError } from '../errors.ts';
import { type Address, type Hex, ZERO_ADDRESS } from '../protocol/hex.ts';

import type { Terms } from './checks.ts';

export interface PolicyCheckContext {
  readonly host: OrderPolicy;
  readonly remote: DeadlineLimiter;
  /** Reports the errors behind a rejection: why the chain or the host failed. */
  readonly onFailure: (failure: unknown) => void;
}

/** The queue of a quote's policy checks. The owner of a quote is a claim, so quotes do not use the queue of orders. */
export const getQuoteQueue = (owner: Address): CheckQueue => ({ queue: `quote ${owner}` });

/**
 * Rejects an order if the host denies its owner or receiver. A null or zero receiver is the owner. The owner of a quote
 * may be the zero address, which is not checked.
 */
export async function checkDenyList(
  { owner, data }: Pick<Terms, 'owner' | 'data'>,
  context: PolicyCheckContext,
  queue: CheckQueue,
): Promise<OrderBookError | undefined> {
  const { isDenied } = context.host;
  if (isDenied === undefined) return undefined;
  const { receiver } = data;
  const parties = owner === ZERO_ADDRESS ? [] : [{ field: 'owner', address: owner }];
  if (receiver !== null && receiver !== ZERO_ADDRESS && receiver !== owner) {
    parties.push({ field: 'receiver', address: receiver });
  }
  const results = await Promise.all(
    parties.map(({ address }) => runPolicy(queue, (call) => isDenied(address, call), context)),
  );
  const denied = parties.find((_, i) => results[i] === true);
  if (denied !== undefined) return new OrderBookError('Forbidden', `the ${denied.field} is deny-listed`, denied);
  return results.find((result) => result instanceof OrderBookError);
}

/** Calls a policy function of the host. An error is reported as a failure and rejects the order. */
export async function runPolicy(
  { queue, ...options }: CheckQueue,
  policy: (call: PolicyContext) => boolean | Promise<boolean>,
  { remote, onFailure }: PolicyCheckContext,
): Promise<boolean | OrderBookError> {
  try {
    const result: unknown = await remote.run(queue, (signal) => policy({ signal }), options);
    if (typeof result === 'boolean') return result;
    throw new TypeError(`the result of a policy function must be a boolean, got ${typeof result}`);
  } catch (failure) {
    if (failure instanceof AbortedError) throw failure;
    if (failure instanceof QueueFullError) return createQueueFullError();
    onFailure(failure);
    return new OrderBookError('InternalServerError', '');
  }
}

/** Policy functions of the host for order validation. */
export interface OrderPolicy {
  /**
   * Returns whether an address is denied. Called for the owner and the receiver of each order. An order with a denied
   * address is rejected with `Forbidden`. If the function throws, rejects or returns anything except a boolean, the
   * order is rejected with `InternalServerError`, retryable.
   */
  readonly isDenied?: (address: Address, call: PolicyContext) => boolean | Promise<boolean>;
  /**
   * Returns whether an order may be settling now, so that it must not be replaced: then the new order is rejected with
   * `OldOrderActivelyBidOn`. Errors are handled as for `isDenied`. Default: whether the order is in a solution of the
   * five highest recorded auctions.
   */
  readonly isActivelyBidOn?: (uid: Hex, call: PolicyContext) => boolean | Promise<boolean>;
}

/** The context of a call to a policy function. */
export interface PolicyContext {
  /** Aborted when the result is no longer needed. */
  readonly signal: AbortSignal;
}

/** A queue of the deadline limiter, and its limits. */
export interface CheckQueue extends QueueOptions {
  readonly queue: string;
}

/** Creates the rejection of an order whose checks do not fit into their queue. */
export function createQueueFullError(): OrderBookError {
  const description = 'too many orders of this client wait for their checks; try again in 1 s';
  return new OrderBookError('RateLimited', description, { retryAfter: 1 });
}

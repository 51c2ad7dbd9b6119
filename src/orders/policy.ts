import { AbortedError } from '../concurrency/abort.ts';
import { QueueFullError } from '../concurrency/deadline.ts';
import { OrderBookError } from '../errors.ts';
import type { Address } from '../protocol/hex.ts';
import { ZERO_ADDRESS } from '../protocol/hex.ts';
import type { AdmissionContext, CheckQueue, PolicyContext } from './admission.ts';
import { createQueueFullError } from './admission.ts';
import type { Terms } from './checks.ts';

/** The part of the admission context that policy checks need. */
export type PolicyCheckContext = Pick<AdmissionContext, 'host' | 'remote' | 'onFailure'>;

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

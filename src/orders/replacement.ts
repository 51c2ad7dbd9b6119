import { runPolicy } from '../admission/policy.ts';
import { OrderBookError } from '../errors.ts';
import type { StoredOrder } from '../ports/store.ts';
import { unpackUid } from '../protocol/hex.ts';
import { isEcdsa } from '../protocol/signature.ts';
import { checkCancellable } from '../records/order-json.ts';
import type { OrderBody } from '../records/wire-order.ts';
import { getCheckQueue, type RemoteCheck } from './admission.ts';
import { createReplacementError } from './cancel-errors.ts';

/**
 * Checks that the order in `metadata.replacedOrder` belongs to the same owner, can be cancelled off chain, and is not
 * settling. The owner is checked first, so that a stranger does not learn the state of the order. See
 * docs/internals/decisions.md#d2-20.
 *
 * This check produces the rejection; the insert checks again in the step that cancels the old order.
 */
export const checkReplacement: RemoteCheck = async (candidate, context, submission) => {
  const { owner, creation, document } = candidate;
  const uid = document.content.replacedOrder;
  if (uid === undefined) return undefined;
  const { signingScheme: scheme } = creation;
  if (!isEcdsa(scheme)) {
    const description = `a replacement must be signed by the owner's key, got signing scheme ${scheme}`;
    return new OrderBookError('InvalidSignature', description, { scheme, uid });
  }
  const expected = unpackUid(uid).owner;
  if (expected !== owner) {
    const description = `the order to replace belongs to ${expected}, this one to ${owner}`;
    return new OrderBookError('WrongOwner', description, { owner, expected, uid });
  }
  if (!submission.batch.has(uid)) {
    const [old] = await context.store.orders.get([uid]);
    const reason = checkCancellable(old && toCancellable(old), Math.floor(context.clock.now() / 1000));
    if (reason !== undefined) return createReplacementError(uid, reason);
  }
  const { isActivelyBidOn } = context.host;
  if (isActivelyBidOn === undefined) return undefined;
  const bidOn = await runPolicy(
    getCheckQueue(candidate, context, submission),
    (call) => isActivelyBidOn(uid, call),
    context,
  );
  return bidOn === true ? new OrderBookError('OldOrderActivelyBidOn', undefined, { uid }) : bidOn || undefined;
};

function toCancellable({ state, validTo, body }: StoredOrder) {
  const { signingScheme } = JSON.parse(body) as OrderBody; // rendered by this engine
  return { state, validTo, signingScheme };
}

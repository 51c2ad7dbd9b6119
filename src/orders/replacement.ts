import { OrderBookError } from '../errors.ts';
import type { CancelRejection, StoredOrder } from '../ports/store.ts';
import type { Hex } from '../protocol/hex.ts';
import { isEcdsa } from '../protocol/signature.ts';
import { unpackUid } from '../protocol/uid.ts';
import type { RemoteCheck } from './admission.ts';
import { CANCEL_ERRORS } from './cancel.ts';
import type { OrderBody } from './order-json.ts';
import { runPolicy } from './policy.ts';
import { checkCancellable } from './status.ts';

/**
 * The order that `metadata.replacedOrder` names belongs to the same owner, can be cancelled off chain, and is not
 * settling (decision 2.20). The owner is judged first, so that nobody learns the state of somebody else's order.
 *
 * This is for the sake of the rejection: the insert judges again, in the step that cancels the old order.
 */
export const checkReplacement: RemoteCheck = async (candidate, context, batch) => {
  const { owner, creation, document } = candidate;
  const uid = document.content.replacedOrder;
  if (uid === undefined) return undefined;
  const { signingScheme: scheme } = creation;
  if (!isEcdsa(scheme)) {
    const description = `replacing an order takes a signature by its owner's key, not ${scheme}`;
    return new OrderBookError('InvalidSignature', description, { scheme, uid });
  }
  const expected = unpackUid(uid).owner;
  if (expected !== owner) {
    const description = `the order to replace belongs to ${expected}, this one to ${owner}`;
    return new OrderBookError('WrongOwner', description, { recovered: owner, expected, uid });
  }
  if (!batch.has(uid)) {
    const [old] = await context.store.orders.get([uid]);
    const reason = checkCancellable(old && cancellable(old), Math.floor(context.clock.now() / 1000));
    if (reason !== undefined) return irreplaceable(uid, reason);
  }
  const { isActivelyBidOn } = context.host;
  if (isActivelyBidOn === undefined) return undefined;
  const bidOn = await runPolicy(owner, (call) => isActivelyBidOn(uid, call), context);
  return bidOn === true ? new OrderBookError('OldOrderActivelyBidOn', undefined, { uid }) : bidOn || undefined;
};

/** Says why an order cannot be replaced. */
export function irreplaceable(uid: Hex, reason: CancelRejection): OrderBookError {
  return new OrderBookError(CANCEL_ERRORS[reason], undefined, { uid });
}

function cancellable({ state, validTo, body }: StoredOrder) {
  const { signingScheme } = JSON.parse(body) as OrderBody; // rendered by this engine
  return { state, validTo, signingScheme };
}

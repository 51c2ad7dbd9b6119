import type { VerifiedOrder } from '../admission/verified-order.ts';
import { OrderBookError } from '../errors.ts';
import { seconds } from '../ports/clock.ts';
import type { NewOrder } from '../ports/order-record.ts';
import type { OrderQuote } from '../ports/quote-store.ts';
import type { InsertOutcome, OrderInsert } from '../ports/store.ts';
import { ZERO_APP_DATA } from '../protocol/app-data.ts';
import { isEcdsa } from '../protocol/signature.ts';
import { toNewOrder } from '../records/order-json.ts';
import type { AdmissionContext } from './admission.ts';
import { createReplacementError } from './cancel-errors.ts';

/** Creates the store's input from an order that has passed every check. */
export function toOrderInsert(
  candidate: VerifiedOrder,
  quote: OrderQuote | undefined,
  context: AdmissionContext,
): OrderInsert {
  const { document } = candidate;
  const { replacedOrder } = document.content;
  const admitted = { ...candidate, creationDate: context.clock.now() };
  const order = toNewOrder(admitted, { quotaClass: getQuotaClass(candidate, context) });
  const quota = getQuota(candidate, context);
  const limited = { ...order, validTo: getEffectiveValidity(order, context) };
  return {
    order: quote === undefined ? limited : { ...limited, quote },
    // The zero hash denotes `{}` but is not its hash, so no document is stored under it. Any other document is stored,
    // even if it was read from the store: it may have been deleted in the meantime.
    ...(document.hash === ZERO_APP_DATA ? {} : { document: { hash: document.hash, document: document.text } }),
    ...(quota === undefined ? {} : { quota }),
    ...(replacedOrder === undefined ? {} : { replaces: replacedOrder }),
  };
}

/** Returns the end of an order's effective validity, which is shorter while it waits for its signature. */
function getEffectiveValidity({ state, validTo }: NewOrder, { clock, limits }: AdmissionContext): number {
  const { maxPendingValidity } = limits;
  if (state !== 'presignaturePending' || maxPendingValidity === undefined) return validTo;
  return Math.min(validTo, seconds(clock) + maxPendingValidity);
}

/** Converts the store's outcome into a rejection; `undefined` if the order was inserted. */
export function toRejection(
  outcome: InsertOutcome,
  candidate: VerifiedOrder,
  context: AdmissionContext,
): OrderBookError | undefined {
  switch (outcome.status) {
    case 'inserted':
      return undefined;
    case 'duplicate':
      return new OrderBookError('DuplicatedOrder', undefined, { uid: candidate.uid });
    case 'quotaExceeded': {
      const { quota, count } = outcome;
      const quotaClass = getQuotaClass(candidate, context);
      const description = `the owner has ${count} ${quotaClass} orders, the quota is ${quota}`;
      return new OrderBookError('TooManyLimitOrders', description, {
        limit: quota,
        count,
        quotaClass,
        owner: candidate.owner,
      });
    }
    case 'notReplaceable': {
      const { replacedOrder } = candidate.document.content;
      if (replacedOrder === undefined) throw new Error('the store rejected a replacement that was not requested');
      return createReplacementError(replacedOrder, outcome.reason);
    }
    case 'busy':
    case 'unknown':
      return new OrderBookError('OutcomeUnknown', undefined, { uid: candidate.uid });
  }
}

/** Returns the quota class of an order: `open` if its owner is verified. See docs/internals/decisions.md#d2-25. */
function getQuotaClass({ creation }: VerifiedOrder, { eip1271 }: AdmissionContext): 'open' | 'pending' {
  if (isEcdsa(creation.signingScheme)) return 'open';
  return creation.signingScheme === 'eip1271' && eip1271 === 'verified' ? 'open' : 'pending';
}

function getQuota(candidate: VerifiedOrder, context: AdmissionContext): number | undefined {
  const limits = { ...context.limits, ...context.ownerLimits.get(candidate.owner) };
  return getQuotaClass(candidate, context) === 'open' ? limits.maxOpenOrders : limits.maxPendingOrders;
}

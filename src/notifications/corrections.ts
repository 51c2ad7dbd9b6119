import type { OrderTokens } from '../account-tools/token-labels.ts';
import type { NotificationChange, NotificationType, ProgressMarker } from '../ports/notification-store.ts';
import type { StoredEvent } from '../ports/store.ts';
import type { Order } from '../records/order-json.ts';
import { createHashedId } from './hashed-ids.ts';
import { formatExchange } from './notification-messages.ts';

/** Creates a notification of an entry. */
export type NotifyEntry = (
  event: StoredEvent,
  type: NotificationType,
  message: string,
  details: Readonly<Record<string, unknown>>,
  id: string,
) => NotificationChange | undefined;

/** Follows fills and cancellations that reorganisations revert and restore. */
export interface Corrections {
  /** Records that an entry adds a fill or a cancellation on the chain, or reverts it. */
  record(event: StoredEvent): void;
  /** Returns the corrections of what earlier batches have notified, and the new markers. */
  finish(): { readonly changes: NotificationChange[]; readonly marks: ProgressMarker[] };
}

/** The inputs for corrections. */
export interface CorrectionInputs {
  /** The current orders of the entries. A missing order was rolled back, and a later entry reverts it. */
  readonly orders: ReadonlyMap<string, Order>;
  readonly getTokens: (order: Order) => OrderTokens;
  /** The feed's progress markers: numbers of presignatures by UID, and of corrections by their keys. */
  readonly marks: ReadonlyMap<string, string>;
  /** Whether fills and cancellations that were reverted are notified as `order_reverted`. */
  readonly revertedNotifications: boolean;
}

interface State {
  /** Number of corrections so far: odd while the entry is reverted. */
  readonly count: number;
  readonly wasReverted: boolean;
  readonly last: StoredEvent;
}

/** Returns the key of the marker that counts the corrections of an entry. The block is not part of it. */
export function getCorrectionKey({ uid, cause }: Pick<StoredEvent, 'uid' | 'cause'>): string {
  return createHashedId(['order_reverted', uid, cause?.position.transactionHash ?? '', cause?.trade?.ordinal ?? 0]);
}

/** Returns whether an entry is a fill or a cancellation on the chain, or its reversal. */
export function isCorrectable({ type, cause }: StoredEvent): boolean {
  const subject = type === 'reverted' ? cause?.reverted : type;
  return cause !== undefined && (subject === 'cancelled' || (subject === 'traded' && cause.trade !== undefined));
}

/**
 * Creates the corrections of a batch of entries. A fill that is added and reverted in one batch needs none, because
 * its notification is not delivered. Each correction withdraws the previous one of the same entry.
 */
export function createCorrections(
  { marks, orders, getTokens, revertedNotifications }: CorrectionInputs,
  createChange: NotifyEntry,
): Corrections {
  const states = new Map<string, State>();
  return {
    record(event) {
      if (!revertedNotifications || !isCorrectable(event)) return;
      const key = getCorrectionKey(event);
      const known = states.get(key);
      // An entry that is reverted first was on the chain before the batch; one that is added first was not.
      const state = known ?? { count: Number(marks.get(key) ?? 0), wasReverted: event.type !== 'reverted' };
      states.set(key, { ...state, last: event });
    },
    finish() {
      const changes: NotificationChange[] = [];
      const changed: ProgressMarker[] = [];
      for (const [key, { count, wasReverted, last }] of states) {
        const isReverted = last.type === 'reverted';
        // A first fill restores nothing.
        if (isReverted === wasReverted || (!isReverted && count % 2 === 0)) continue;
        const order = orders.get(last.uid);
        if (order === undefined) continue;
        const { text, metadata } = describe(last, order, getTokens(order));
        const change = createChange(last, 'order_reverted', text, metadata, createHashedId([key, count + 1]));
        if (change === undefined) continue;
        if (count > 0) changes.push({ type: 'withdraw', id: createHashedId([key, count]) });
        changes.push(change);
        changed.push({ key, value: String(count + 1) });
      }
      return { changes, marks: changed };
    },
  };
}

function describe({ type, cause }: StoredEvent, order: Order, tokens: OrderTokens) {
  const restored = type !== 'reverted';
  const txHash = cause?.position.transactionHash;
  const trade = cause?.trade;
  if (trade === undefined) {
    const subject = `cancellation of your order to exchange ${formatExchange(order, order, tokens)}`;
    const text = restored
      ? `The ${subject} was reverted, and is on the chain again`
      : `A reorganisation of the chain reverted the ${subject}`;
    return { text, metadata: { txHash, restored } };
  }
  const exchange = formatExchange(order, trade, tokens);
  const text = restored
    ? `A fill of your order was reverted, and is on the chain again: ${exchange}`
    : `A reorganisation of the chain reverted a fill of your order: ${exchange}`;
  const { sellAmount: executedSellAmount, buyAmount: executedBuyAmount } = trade;
  return { text, metadata: { executedSellAmount, executedBuyAmount, txHash, restored } };
}

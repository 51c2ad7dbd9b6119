import type { Address, Budget, Hex, InsertOutcome, NewDocument, NewEvent, NewOrder, OrderInsert } from 'intentbook';
import { checkCancellable } from 'intentbook/store-kit';
import type { CountQuery } from './owner-counts.ts';
import type { OrderRecord } from './rows.ts';

/** Stored rows that the checks of a batch need, read under the locks of the owners. */
export interface BatchState {
  /** Stored orders among those to insert and to replace. */
  readonly orders: ReadonlyMap<Hex, OrderRecord>;
  /** UIDs to insert that have a tombstone. */
  readonly tombstones: ReadonlySet<Hex>;
  /** Number of live orders, for each order with a cap. */
  readonly counts: readonly (CountQuery & { readonly count: number })[];
}

/** An order to insert, with the effects of the later orders of its batch. */
export interface InsertedOrder {
  readonly order: NewOrder;
  readonly cancelled: boolean;
}

/** Changes that one transaction writes. */
export interface PlannedChanges {
  readonly insert: readonly InsertedOrder[];
  readonly documents: readonly (NewDocument & { readonly uid: Hex })[];
  /** Stored orders to cancel. */
  readonly cancel: readonly OrderRecord[];
  /** Events in their order. One of type `created` is written only with its order. */
  readonly events: readonly NewEvent[];
}

/**
 * Decides the outcomes of a batch, one order after the other, as if each were inserted before the next is checked.
 *
 * @param state - Stored rows. Undefined if only duplicates matter, which the insert detects.
 */
export function planInserts(
  inserts: readonly OrderInsert[],
  state: BatchState | undefined,
): { readonly outcomes: InsertOutcome[]; readonly changes: PlannedChanges } {
  const added = new Map<Hex, { order: NewOrder; cancelled: boolean }>();
  const cancelled = new Map<Hex, OrderRecord>();
  const documents: (NewDocument & { uid: Hex })[] = [];
  const events: NewEvent[] = [];

  const find = (uid: Hex): OrderRecord | undefined => {
    const entry = added.get(uid);
    if (entry !== undefined) return { ...entry.order, state: entry.cancelled ? 'cancelled' : entry.order.state };
    return cancelled.get(uid) ?? state?.orders.get(uid);
  };

  /** Returns the number of live orders, including the changes of this batch. */
  function countLive(owner: Address, budget: Budget, now: number): number {
    let count = 0;
    for (const query of state?.counts ?? []) {
      if (query.owner === owner && query.budget === budget && query.now === now) count = query.count;
    }
    const counts = (order: { owner: Address; budget: Budget; validTo: number }) =>
      order.owner === owner && order.budget === budget && order.validTo >= now;
    for (const entry of added.values()) if (!entry.cancelled && counts(entry.order)) count++;
    for (const order of cancelled.values()) if (counts(order) && order.expiryRecorded !== true) count--;
    return count;
  }

  function cancel(order: OrderRecord, at: number): void {
    const entry = added.get(order.uid);
    if (entry === undefined) cancelled.set(order.uid, { ...order, state: 'cancelled' });
    else entry.cancelled = true;
    events.push({ type: 'cancelled', uid: order.uid, owner: order.owner, at });
  }

  function plan({ order, document, cap, replaces }: OrderInsert): InsertOutcome {
    const now = Math.floor(order.creationDate / 1000);
    if (find(order.uid) !== undefined || state?.tombstones.has(order.uid)) return { status: 'duplicate' };
    const replaced = replaces === undefined ? undefined : find(replaces);
    if (replaces !== undefined) {
      const reason = checkCancellable(replaced, now);
      if (reason !== undefined) return { status: 'irreplaceable', reason };
    }
    if (state !== undefined && cap !== undefined) {
      const freed = replaced?.budget === order.budget ? 1 : 0;
      const used = countLive(order.owner, order.budget, now) - freed;
      if (used >= cap) return { status: 'capped', limit: cap, count: used };
    }

    if (replaced !== undefined) cancel(replaced, order.creationDate);
    added.set(order.uid, { order, cancelled: false });
    if (document !== undefined) documents.push({ ...document, uid: order.uid });
    events.push({ type: 'created', uid: order.uid, owner: order.owner, at: order.creationDate });
    return { status: 'inserted' };
  }

  const outcomes = inserts.map(plan);
  return { outcomes, changes: { insert: [...added.values()], documents, cancel: [...cancelled.values()], events } };
}

import type { Address, Budget, Hex, InsertOutcome, NewDocument, NewEvent, NewOrder, OrderInsert } from 'intentbook';
import { checkCancellable } from 'intentbook/store-kit';
import type { CountQuestion } from './owner-counts.ts';
import type { Found } from './rows.ts';

/** What a look at the tables has told, under the locks of the owners. */
export interface KnownRows {
  /** Those of the orders to insert and to replace that are there. */
  readonly orders: ReadonlyMap<Hex, Found>;
  /** How many orders were live, for each order with a cap. */
  readonly counts: readonly (CountQuestion & { readonly count: number })[];
}

/** An order to insert, already with what the rest of its batch has done to it. */
export interface InsertedOrder {
  readonly order: NewOrder;
  readonly cancelled: boolean;
}

/** What one transaction writes. */
export interface PlannedChanges {
  readonly insert: readonly InsertedOrder[];
  readonly documents: readonly (NewDocument & { readonly uid: Hex })[];
  /** Orders that are there and are cancelled. */
  readonly cancel: readonly Found[];
  /** In the order in which they happen. One of type `created` is written only with its order. */
  readonly events: readonly NewEvent[];
}

/**
 * Judges a batch, one order after the other, as if each of them were inserted before the next is looked at.
 *
 * @param known absent when nothing in the tables matters but which orders are there, and the insert tells that.
 */
export function planInserts(
  inserts: readonly OrderInsert[],
  known: KnownRows | undefined,
): { readonly outcomes: InsertOutcome[]; readonly changes: PlannedChanges } {
  const fresh = new Map<Hex, { order: NewOrder; cancelled: boolean }>();
  const cancelled = new Map<Hex, Found>();
  const documents: (NewDocument & { uid: Hex })[] = [];
  const events: NewEvent[] = [];

  const find = (uid: Hex): Found | undefined => {
    const entry = fresh.get(uid);
    if (entry !== undefined) return { ...entry.order, state: entry.cancelled ? 'cancelled' : entry.order.state };
    return cancelled.get(uid) ?? known?.orders.get(uid);
  };

  /** How many orders are live by now, with what this batch has added and taken away. */
  function live(owner: Address, budget: Budget, now: number): number {
    let count = 0;
    for (const question of known?.counts ?? []) {
      if (question.owner === owner && question.budget === budget && question.now === now) count = question.count;
    }
    const counts = (order: { owner: Address; budget: Budget; validTo: number }) =>
      order.owner === owner && order.budget === budget && order.validTo >= now;
    for (const entry of fresh.values()) if (!entry.cancelled && counts(entry.order)) count++;
    for (const order of cancelled.values()) if (counts(order)) count--;
    return count;
  }

  function cancel(order: Found, at: number): void {
    const entry = fresh.get(order.uid);
    if (entry === undefined) cancelled.set(order.uid, { ...order, state: 'cancelled' });
    else entry.cancelled = true;
    events.push({ type: 'cancelled', uid: order.uid, owner: order.owner, at });
  }

  function judge({ order, document, cap, replaces }: OrderInsert): InsertOutcome {
    const now = Math.floor(order.creationDate / 1000);
    if (find(order.uid) !== undefined) return { status: 'duplicate' };
    const replaced = replaces === undefined ? undefined : find(replaces);
    if (replaces !== undefined) {
      const reason = checkCancellable(replaced, now);
      if (reason !== undefined) return { status: 'irreplaceable', reason };
    }
    if (known !== undefined && cap !== undefined) {
      const freed = replaced?.budget === order.budget ? 1 : 0;
      const used = live(order.owner, order.budget, now) - freed;
      if (used >= cap) return { status: 'capped', limit: cap, count: used };
    }

    if (replaced !== undefined) cancel(replaced, order.creationDate);
    fresh.set(order.uid, { order, cancelled: false });
    if (document !== undefined) documents.push({ ...document, uid: order.uid });
    events.push({ type: 'created', uid: order.uid, owner: order.owner, at: order.creationDate });
    return { status: 'inserted' };
  }

  const outcomes = inserts.map(judge);
  return { outcomes, changes: { insert: [...fresh.values()], documents, cancel: [...cancelled.values()], events } };
}

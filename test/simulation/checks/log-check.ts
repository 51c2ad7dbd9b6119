import type { LogPruneRequest, StoredEvent } from 'intentbook';
import type { Pool } from '../orders/pool.ts';
import type { Model } from './model.ts';
import type { Report } from './store-observer.ts';

/** An entry, and the commit that has written it. */
export type LogEntry = StoredEvent & { readonly commit: number };

/** Checks that the log is ordered and complete, and that it alone gives the state of every order. */
export interface LogCheck {
  /** Id of the newest entry. */
  readonly last: number;
  /** The entries so far. */
  readonly entries: readonly LogEntry[];
  /** Returns the entries after an id. */
  after(id: number): Iterable<LogEntry>;
  add(event: StoredEvent): void;
  /** The first id of the current log epoch. A reader from before it may have missed entries. */
  readonly epochStart: number;
  /** Called when the storage was restored: the next entry begins a new log epoch. */
  beginEpoch(): void;
  /** Forgets the entries in effect of an order that was deleted. */
  forget(order: number): void;
  /** The id up to which entries were deleted. */
  readonly prunedThrough: number;
  /** Deletes the entries that a request names, and returns their number. */
  prune(request: LogPruneRequest): number;
  /** Compares the entries in effect with the model. */
  compare(): void;
}

export function createLogCheck({
  model,
  pool,
  report,
}: {
  readonly model: Model;
  readonly pool: Pool;
  readonly report: Report;
}): LogCheck {
  const entries: LogEntry[] = [];
  /** Descriptions of the entries in effect since the last one of an order. */
  const descriptions = new Map<number, string>();
  /** The entries in effect by order, by type and position. */
  const effective = new Map<number, Map<string, StoredEvent>>();
  let last = 0;
  let prunedThrough = 0;
  let epochStart = 1;
  let isRestored = false;

  function show(n: number, events: ReadonlyMap<string, StoredEvent>): string {
    const known = descriptions.get(n);
    if (known !== undefined) return known;
    const description = describe(events);
    descriptions.set(n, description);
    return description;
  }

  function describe(events: ReadonlyMap<string, StoredEvent>): string {
    const list = [...events.values()];
    const count = (type: string) => list.filter((event) => event.type === type).length;
    const trades = list.flatMap(({ cause }) => cause?.trade ?? []);
    const sum = (side: 'sellAmount' | 'buyAmount') => trades.reduce((total, each) => total + BigInt(each[side]), 0n);
    const isFilled = trades.some(({ completes }) => completes);
    const isSigned = count('presigned') > count('presignatureRevoked');
    return [
      trades.length,
      sum('sellAmount'),
      sum('buyAmount'),
      isFilled,
      isSigned,
      count('cancelled') > 0,
      count('expired'),
    ].join();
  }

  return {
    entries,
    get last() {
      return last;
    },
    add(event) {
      const { id, uid, type, cause } = event;
      const order = pool.byUid.get(uid)?.index ?? -1;
      descriptions.delete(order);
      if (isRestored ? id <= last + 1 : id !== last + 1) report('log order', `entry ${id} follows ${last}`);
      if (isRestored) epochStart = id;
      isRestored = false;
      last = id;
      entries.push({ ...event, commit: model.commit });
      const place = cause === undefined ? '' : `${cause.position.blockHash} ${cause.position.logIndex}`;
      if (type === 'created') {
        if (effective.has(order)) report('log', `order ${order} is created twice`);
        effective.set(order, new Map());
        return;
      }
      const events = effective.get(order);
      if (type === 'reverted' && cause?.reverted === 'created') {
        // An off-chain cancellation is no longer shown. It leaves a tombstone.
        events?.delete('cancelled ');
        if (events === undefined || events.size > 0) report('log', `order ${order} is removed with ${events?.size}`);
        effective.delete(order);
        return;
      }
      if (events === undefined) return report('log', `${type} precedes the creation of order ${order}`);
      if (type === 'reverted' || type === 'reinstated') {
        const reverted = `${type === 'reinstated' ? 'expired' : cause?.reverted} ${place}`;
        if (!events.delete(reverted)) report('log', `nothing to revert for order ${order}: ${reverted}`);
        return;
      }
      if (events.has(`${type} ${place}`)) report('log', `${type} twice for order ${order}`);
      events.set(`${type} ${place}`, event);
    },
    get epochStart() {
      return epochStart;
    },
    beginEpoch() {
      isRestored = true;
    },
    forget(order) {
      effective.delete(order);
      descriptions.delete(order);
    },
    get prunedThrough() {
      return prunedThrough;
    },
    prune({ before, through, limit }) {
      let count = 0;
      for (const { id, at } of entries) {
        if (id <= prunedThrough) continue;
        if (id > through || id === last || at >= before || count === limit) break;
        prunedThrough = id;
        count++;
      }
      return count;
    },
    *after(id) {
      let [low, high] = [0, entries.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((entries[middle]?.id ?? 0) > id) high = middle;
        else low = middle + 1;
      }
      for (; low < entries.length; low++) yield entries[low] as LogEntry; // in the list
    },
    compare() {
      for (const { index, scheme } of pool.orders) {
        const standing = model.placed.has(index) ? model.standing(index) : undefined;
        const events = effective.get(index);
        if (standing === undefined && events === undefined) continue;
        const expected =
          standing &&
          [
            standing.trades,
            standing.sold,
            standing.bought,
            standing.state === 'fulfilled',
            scheme === 'presign' && standing.isSigned,
            standing.isCancellationLogged,
            standing.isExpiryLogged ? 1 : 0,
          ].join();
        const actual = events && show(index, events);
        if (actual !== expected) report('log', `order ${index}: got ${actual}, expected ${expected}`);
      }
    },
  };
}

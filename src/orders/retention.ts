import type { Observer } from '../listeners.ts';
import { type Clock, readMonotonic, seconds } from '../ports/clock.ts';
import type { ChainEventPruneRequest } from '../ports/retention.ts';
import type { Store } from '../ports/store.ts';
import type { PruneObservation, RetentionOptions } from './retention-options.ts';

export interface PruningContext {
  readonly store: Pick<Store, 'orders' | 'events' | 'retention'>;
  readonly clock: Clock;
  /** Rows that are deleted in one step. */
  readonly batch: number;
  /** Repeats a step until it changes less than a full batch. */
  readonly repeat: (isStopping: () => boolean, step: () => Promise<number>) => Promise<void>;
  /** Returns the time of the newest block, in seconds since 1970. `undefined`: the book follows no chain. */
  readonly getBlockTime: () => Promise<number | undefined>;
  /** Lets reads bypass the cache until the returned function is called. With `isChanged`, it also clears the cache. */
  readonly bypassCache: () => (isChanged: boolean) => void;
  readonly pruneObserver: Observer<PruneObservation>;
}

/** Milliseconds between two rounds. */
const INTERVAL = 3_600_000;

/**
 * Creates the deletion of old data, in bounded steps, once an hour.
 *
 * Log entries have the time of their cause, which may be a block of last year. So an entry must also have been in the
 * log in the previous round, and readers have an hour to read it.
 */
export function createPruning({ store, clock, batch, repeat, getBlockTime, ...context }: PruningContext) {
  const { orders, events, retention } = store;
  /** When the last round began, in milliseconds of `readMonotonic`. */
  let prunedAt: number | undefined;
  /** End of the log in the previous round. */
  let readable: number | undefined;

  /** Runs a step and returns the number of deleted rows. The log has no entries for them, so reads bypass the cache. */
  async function prune(data: PruneObservation['data'], step: () => Promise<number>): Promise<number> {
    const resume = context.bypassCache();
    let isChanged = true; // a step that fails may have deleted rows
    try {
      const removed = await step();
      isChanged = removed > 0;
      if (isChanged) context.pruneObserver.notify({ data, removed });
      return removed;
    } finally {
      resume(isChanged);
    }
  }

  async function pruneEvents(olderThan: number, isStopping: () => boolean): Promise<void> {
    const last = await events.last();
    const through = readable;
    readable = last;
    if (through === undefined) return;
    const request = { before: olderThan * 1000, through, limit: batch };
    await repeat(isStopping, () => prune('events', () => retention.pruneEvents(request)));
  }

  async function pruneChainEvents(before: number, isStopping: () => boolean): Promise<void> {
    let after: ChainEventPruneRequest['after'];
    await repeat(isStopping, async () => {
      const request = { before, limit: batch, ...(after === undefined ? {} : { after }) };
      await prune('chainEvents', async () => {
        const { removed, next } = await retention.pruneChainEvents(request);
        after = next;
        return removed;
      });
      return after === undefined ? 0 : batch;
    });
  }

  return {
    /** @param sweptAt - The time until which expiries are recorded, in seconds since 1970. */
    async run(ages: RetentionOptions, sweptAt: number, isStopping: () => boolean): Promise<void> {
      // The absolute difference: a clock without monotonic time may be set back, which must not postpone the round.
      if (prunedAt !== undefined && Math.abs(readMonotonic(clock) - prunedAt) < INTERVAL) return;
      prunedAt = readMonotonic(clock);
      const blockTime = await getBlockTime();
      // The clock may have been set forward since the sweep: an order whose expiry is not recorded needs its document.
      // It may have been set back: a new order may end before the time of the sweep.
      const getSweepTime = () => Math.min(sweptAt, seconds(clock));
      const getTime = () => Math.min(getSweepTime(), blockTime ?? Number.POSITIVE_INFINITY);
      const limit = batch;
      if (ages.orders !== undefined) {
        const before = getTime() - ages.orders;
        // Without a chain, only the clock shows that a cancelled order has expired, so its tombstone is kept.
        const tombstones = blockTime === undefined ? {} : { tombstonesBefore: before };
        await repeat(isStopping, () => prune('orders', () => orders.prune({ before, limit, ...tombstones })));
      }
      if (ages.events !== undefined) await pruneEvents(getSweepTime() - ages.events, isStopping);
      if (ages.chainEvents !== undefined) await pruneChainEvents(getTime() - ages.chainEvents, isStopping);
      if (ages.documents !== undefined) {
        const maxAge = ages.documents;
        const step = () => retention.pruneDocuments({ before: getTime() - maxAge, limit });
        await repeat(isStopping, () => prune('documents', step));
      }
    },
  };
}

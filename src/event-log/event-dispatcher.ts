import { createWorker } from '../concurrency/worker.ts';
import { type Clock, readMonotonic } from '../ports/clock.ts';
import type { OrderEventType } from '../ports/order-events.ts';
import type { Store, StoredEvent } from '../ports/store.ts';
import type { EventLog } from '../records/event-log.ts';

/** The event of each type of log entry. */
const EVENT_NAMES = {
  created: 'orderCreated',
  cancelled: 'orderCancelled',
  placed: 'orderPlaced',
  presigned: 'orderPresigned',
  presignatureRevoked: 'orderPresignatureRevoked',
  traded: 'orderTraded',
  refunded: 'orderRefunded',
  expired: 'orderExpired',
  reinstated: 'orderReinstated',
  reverted: 'orderReverted',
} as const satisfies Record<OrderEventType, string>;

/** Log entries that are read in one call. */
const BATCH_SIZE = 500;

/** Milliseconds until the log is read again after a failed read. */
const RETRY_DELAY = 1000;

/** Milliseconds after which the position in a shared log is updated while no listener reads its entries. */
const POSITION_INTERVAL = 1000;

export type EntryEvent = (typeof EVENT_NAMES)[OrderEventType];

export interface EntryListeners {
  hasListeners(event: EntryEvent): boolean;
  emit(event: EntryEvent, entry: Omit<StoredEvent, 'type'>): void;
  emitFailure(failure: unknown): void;
}

/**
 * Creates a dispatcher that emits each log entry once, in order.
 *
 * Listeners receive the log, not the result of a call: with several processes on one store, every process emits every
 * entry in the same order.
 *
 * Without listeners, the entries of a shared log are not read: each process would read those of all processes. A new
 * listener may receive entries of the last seconds.
 */
export function createEventDispatcher(store: Store, clock: Clock, { hasListeners, emit, emitFailure }: EntryListeners) {
  let cursor = 0;
  let positionedAt = 0;
  const callbacks = new Set<() => void>();

  const isListenedTo = () => store.traits.writers === 'single' || Object.values(EVENT_NAMES).some(hasListeners);

  function notify(): void {
    for (const onEntries of [...callbacks]) onEntries();
  }

  async function moveToEnd(): Promise<void> {
    const last = await store.events.last();
    // A listener that was added in the meantime receives the entries up to here.
    if (!isListenedTo()) cursor = last;
    positionedAt = readMonotonic(clock);
  }

  const worker = createWorker({
    clock,
    retryDelay: RETRY_DELAY,
    runAtStart: false,
    watch: (wake) => store.events.watch(wake),
    onFailure: emitFailure,
    async run(isStopping) {
      if (!isListenedTo()) {
        notify();
        const left = positionedAt + POSITION_INTERVAL - readMonotonic(clock);
        // Another process receives the latest entries only when one reads the position.
        if (left > 0 && !isStopping()) return left;
        await moveToEnd();
        if (!isListenedTo()) return undefined;
      }
      let count: number;
      do {
        const events = await store.events.after(cursor, BATCH_SIZE);
        count = events.length;
        for (const { type, ...event } of events) {
          cursor = event.id;
          emit(EVENT_NAMES[type], event);
        }
        if (count > 0) notify();
      } while (count === BATCH_SIZE);
      return undefined;
    },
  });

  return {
    /** Starts after the newest entry of the log. */
    async start(): Promise<void> {
      cursor = await store.events.last();
      worker.start();
    },
    /** Signals that the log may have new entries. Returns at once. */
    wake: worker.wake,
    /** Calls `onEntries` after entries were emitted. Returns a function that removes the callback. */
    watch(onEntries: () => void): () => void {
      callbacks.add(onEntries);
      return () => void callbacks.delete(onEntries);
    },
    /** Emits the remaining entries, then stops. */
    stop: worker.drain,
  };
}

/** Creates the log of a book. `assertStarted` throws a `StoreError` unless the book is started. */
export function createEventLog(
  { events, retention }: Pick<Store, 'events' | 'retention'>,
  watch: EventLog['watch'],
  assertStarted: () => void,
): EventLog {
  return {
    async last() {
      assertStarted();
      return events.last();
    },
    async after(id, limit) {
      assertStarted();
      return events.after(id, limit);
    },
    async prunedThrough() {
      assertStarted();
      return retention.prunedThrough();
    },
    watch,
  };
}

import type { EventEmitter } from 'eventemitter3';
import { createWorker } from '../concurrency/worker.ts';
import type { OrderBookEvents } from '../events.ts';
import type { Clock } from '../ports/clock.ts';
import type { OrderEventType } from '../ports/order-events.ts';
import type { Store } from '../ports/store.ts';

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
} as const satisfies Record<OrderEventType, keyof OrderBookEvents>;

/** Log entries that are read in one call. */
const BATCH_SIZE = 500;

/** Milliseconds until the log is read again after a failed read. */
const RETRY_DELAY = 1000;

/** Emits the entries of a store's event log to the listeners of a book. */
export interface EventDispatcher {
  /** Starts after the newest entry of the log. */
  start(): Promise<void>;
  /** Signals that the log may have new entries. Returns at once. */
  wake(): void;
  /** Calls `onEntries` after entries were emitted. Returns a function that removes the callback. */
  watch(onEntries: () => void): () => void;
  /** Emits the remaining entries, then stops. */
  stop(): Promise<void>;
}

/**
 * Creates a dispatcher that emits each log entry once, in order.
 *
 * Listeners receive the log, not the result of a call: with several processes on one store, every process emits every
 * entry in the same order.
 */
export function createEventDispatcher(
  store: Store,
  clock: Clock,
  emitter: EventEmitter<OrderBookEvents>,
): EventDispatcher {
  let cursor = 0;
  let unwatch = () => {};
  const callbacks = new Set<() => void>();

  function emit(name: keyof OrderBookEvents, argument: never): void {
    for (const listener of emitter.listeners(name)) {
      try {
        listener(argument);
      } catch (failure) {
        if (name !== 'failure') reportFailure(failure);
      }
    }
  }

  function reportFailure(failure: unknown): void {
    emit('failure', failure as never); // the type of a thrown value is not known
  }

  const worker = createWorker({
    clock,
    retryDelay: RETRY_DELAY,
    runAtStart: false,
    onFailure: reportFailure,
    async run() {
      let count: number;
      do {
        const events = await store.events.after(cursor, BATCH_SIZE);
        count = events.length;
        for (const { type, ...event } of events) {
          cursor = event.id;
          emit(EVENT_NAMES[type], event as never); // all order events have this shape
        }
        if (count > 0) for (const onEntries of [...callbacks]) onEntries();
      } while (count === BATCH_SIZE);
      return undefined;
    },
  });

  return {
    async start() {
      cursor = await store.events.last();
      worker.start();
      unwatch = store.events.watch(worker.wake);
    },
    wake: worker.wake,
    watch(onEntries) {
      callbacks.add(onEntries);
      return () => void callbacks.delete(onEntries);
    },
    async stop() {
      unwatch();
      await worker.drain();
    },
  };
}

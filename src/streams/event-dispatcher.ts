import type { EventEmitter } from 'eventemitter3';
import type { OrderBookEvents } from '../events.ts';
import type { Cancel, Clock } from '../ports/clock.ts';
import type { OrderEventType, Store } from '../ports/store.ts';

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

const BATCH = 500;

/** Milliseconds after which a log that could not be read is read again, though nobody writes. */
const RETRY = 1000;

/** Tells listeners what the store's log says. */
export interface EventDispatcher {
  /** Begins after the newest event there is. */
  start(): Promise<void>;
  /** There may be new events. Returns at once. */
  wake(): void;
  /** Calls `hint` after entries have been told. @returns what ends that. */
  watch(hint: () => void): () => void;
  /** Tells what is still untold, then stops. */
  stop(): Promise<void>;
}

/**
 * Reads the store's log after each write and tells its entries in order, each once. The log, not the verb that wrote,
 * is what listeners hear: with several processes on one store, everybody hears everything, in the same order.
 */
export function createEventDispatcher(
  store: Store,
  clock: Clock,
  emitter: EventEmitter<OrderBookEvents>,
): EventDispatcher {
  let told = 0;
  let running: Promise<void> | undefined;
  let again = false;
  let unwatch = () => {};
  let cancelRetry: Cancel = () => {};
  let stopped = false;
  const hints = new Set<() => void>();

  function tell(name: keyof OrderBookEvents, argument: never): void {
    for (const listener of emitter.listeners(name)) {
      try {
        listener(argument);
      } catch (failure) {
        report(failure, name);
      }
    }
  }

  function report(failure: unknown, name?: keyof OrderBookEvents): void {
    if (name !== 'failure') tell('failure', failure as never); // a failure may be anything
  }

  async function drain(): Promise<void> {
    try {
      do {
        again = false;
        const events = await store.events.after(told, BATCH);
        for (const { type, ...event } of events) {
          told = event.id;
          tell(EVENT_NAMES[type], event as never); // every order event has this one shape
        }
        if (events.length > 0) for (const hint of [...hints]) hint();
        again ||= events.length === BATCH;
      } while (again);
    } catch (failure) {
      report(failure);
      if (!stopped) cancelRetry = clock.after(RETRY, wake);
    } finally {
      running = undefined;
    }
  }

  function wake(): void {
    again = true;
    cancelRetry();
    running ??= drain();
  }

  return {
    async start() {
      stopped = false;
      told = await store.events.last();
      unwatch = store.events.watch(wake);
    },
    wake,
    watch(hint) {
      hints.add(hint);
      return () => void hints.delete(hint);
    },
    async stop() {
      unwatch();
      stopped = true;
      wake();
      await running;
    },
  };
}

import { EventEmitter } from 'eventemitter3';
import { createWorker } from '../concurrency/lifecycle.ts';
import { callListener, type Observer } from '../listeners.ts';
import { type Clock, readMonotonic } from '../ports/clock.ts';
import type { OrderEventType } from '../ports/order-events.ts';
import type { Store, StoredEvent } from '../ports/store.ts';
import type { EventLog } from '../records/event-log.ts';
import { formatUnknownName, requireFunction } from '../validation/options.ts';

/** The events of an emitter: a listener for each name. `failure` receives what other listeners throw. */
type Listeners<Events> = { readonly [Name in keyof Events]: (payload: never) => unknown };

type Payload<Events extends Listeners<Events>, Name extends keyof Events> = Parameters<Events[Name]>[0];

/** The type of a listener is lost on a generic event name. */
type AnyListener = (payload: unknown) => unknown;

/**
 * Creates an emitter. A listener that throws, or whose promise rejects, does not affect the others. The `emit` of
 * eventemitter3 ends at the first listener that throws, so each listener is called separately.
 *
 * @param caller - The call that error messages name, such as `book.on`.
 * @param names - The names of all events.
 */
export function createEmitter<Events extends Listeners<Events> & { readonly failure: (failure: unknown) => void }>(
  caller: string,
  names: readonly (keyof Events & string)[],
) {
  const emitter = new EventEmitter<string>();

  const hasListeners = (event: keyof Events) => emitter.listenerCount(String(event)) > 0;

  /** Emits an event. What a listener throws, or the reason of its promise, is emitted as `failure`. */
  function emit<Name extends keyof Events>(event: Name, payload: Payload<Events, Name>): void {
    // Emitting the failure of a listener of `failure` could recurse without end.
    const onFailure = event === 'failure' ? () => {} : emitFailure;
    for (const listener of emitter.listeners(String(event))) callListener(listener as AnyListener, payload, onFailure);
  }

  /** Emits `failure`. What a listener of `failure` throws is dropped. */
  function emitFailure(failure: unknown): void {
    emit('failure', failure as Payload<Events, 'failure'>);
  }

  return {
    hasListeners,
    emit,
    emitFailure,
    /** Adds a listener. A listener that is added twice is called twice. */
    on<Name extends keyof Events>(event: Name, listener: Events[Name]): void {
      // Such an event is never emitted.
      if (!names.includes(event as never))
        throw new TypeError(`${caller}: ${formatUnknownName('event', String(event), names)}`);
      requireFunction(`${caller}: the listener`, listener);
      emitter.on(String(event), listener as unknown as AnyListener); // the type of the payload is lost
    },
    off: <Name extends keyof Events>(event: Name, listener: Events[Name]) =>
      void emitter.off(String(event), listener as unknown as AnyListener),
    /** Returns an observer that emits an event. */
    observer: <Name extends keyof Events>(event: Name): Observer<Payload<Events, Name>> => ({
      hasListeners: () => hasListeners(event),
      notify: (observation) => emit(event, observation),
    }),
  };
}

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

/** The part of an emitter that receives log entries. An entry has the shape of its event. */
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

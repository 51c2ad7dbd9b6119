import type { OrderBookEvents } from './events.ts';
import { callListener } from './failure-reporter.ts';
import type { Observer } from './instrumentation.ts';
import { formatUnknownName } from './validation/options.ts';

type Payload<E extends keyof OrderBookEvents> = Parameters<OrderBookEvents[E]>[0];

/** The type of a listener is lost on a generic event name. */
type AnyListener = (payload: unknown) => unknown;

/** Emits the events of a book. A listener that throws, or whose promise rejects, does not affect the others. */
export interface BookEmitter {
  hasListeners(event: keyof OrderBookEvents): boolean;
  on<E extends keyof OrderBookEvents>(event: E, listener: OrderBookEvents[E]): void;
  off<E extends keyof OrderBookEvents>(event: E, listener: OrderBookEvents[E]): void;
  /** Emits an event. What a listener throws, or the reason of its promise, is emitted as `failure`. */
  emit<E extends keyof OrderBookEvents>(event: E, payload: Payload<E>): void;
  /** Emits `failure`. What a listener of `failure` throws is dropped. */
  emitFailure(failure: unknown): void;
  /** Returns an observer that emits an event. */
  observer<E extends keyof OrderBookEvents>(event: E): Observer<Payload<E>>;
}

const NAMES: readonly string[] = [
  'orderCreated',
  'orderCancelled',
  'orderPlaced',
  'orderPresigned',
  'orderPresignatureRevoked',
  'orderTraded',
  'orderRefunded',
  'orderExpired',
  'orderReinstated',
  'orderReverted',
  'chainApplied',
  'chainRolledBack',
  'chainProgress',
  'estimatorQueried',
  'driverCalled',
  'ordersSubmitted',
  'signersRecovered',
  'storeQueried',
  'dataPruned',
  'failure',
] satisfies readonly (keyof OrderBookEvents)[];

/** Rejects the name of an event that is never emitted. */
function assertKnownEvent(event: string): void {
  if (!NAMES.includes(event)) throw new TypeError(`book.on: ${formatUnknownName('event', String(event), NAMES)}`);
}

/** Creates the emitter of a book. */
export function createBookEmitter(): BookEmitter {
  /** A list is replaced, not changed, so that a listener can remove listeners. */
  const lists = new Map<string, readonly AnyListener[]>();
  const list = (event: string) => lists.get(event) ?? [];
  const hasListeners = (event: string) => list(event).length > 0;

  function emit<E extends keyof OrderBookEvents>(event: E, payload: Payload<E>): void {
    // Emitting the failure of a listener of `failure` could recurse without end.
    const onFailure = event === 'failure' ? () => {} : emitFailure;
    for (const listener of list(event)) callListener(listener, payload, onFailure);
  }

  const emitFailure = (failure: unknown) => emit('failure', failure);

  return {
    hasListeners,
    emit,
    emitFailure,
    on(event, listener) {
      assertKnownEvent(event);
      if (typeof listener !== 'function') throw new TypeError('book.on: the listener must be a function');
      lists.set(event, [...list(event), listener as AnyListener]);
    },
    off: (event, listener) =>
      void lists.set(
        event,
        list(event).filter((each) => each !== listener),
      ),
    observer: (event) => ({
      hasListeners: () => hasListeners(event),
      notify: (observation) => emit(event, observation),
    }),
  };
}

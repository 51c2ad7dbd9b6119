import { EventEmitter } from 'eventemitter3';
import { callListener, type Observer } from '../listeners.ts';
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

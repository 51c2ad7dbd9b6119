import { channel } from 'node:diagnostics_channel';
import type { OrderBook, OrderBookEvents } from 'intentbook';
import { assertKnownOptions, requireFunctions } from '#internal';

/** A book whose events are published. */
export interface DiagnosedBook {
  /** Value of the member `book` of each message. */
  readonly name: string;
  readonly book: Pick<OrderBook, 'on' | 'off'>;
}

/** A message of a diagnostics channel: the event of a book. */
export interface DiagnosticsMessage<E extends keyof OrderBookEvents = keyof OrderBookEvents> {
  readonly book: string;
  readonly event: Parameters<OrderBookEvents[E]>[0];
}

/** The events of a book that are published, each on the channel `intentbook:<event>`. */
export const DIAGNOSTICS_EVENTS = [
  'ordersSubmitted',
  'signersRecovered',
  'storeQueried',
  'estimatorQueried',
  'driverCalled',
  'dataPruned',
  'chainApplied',
  'chainRolledBack',
  'chainProgress',
  'failure',
] as const satisfies readonly (keyof OrderBookEvents)[];

/**
 * Publishes events of a book on channels of `node:diagnostics_channel`, for monitoring tools. A message is created only
 * while its channel has subscribers. A book that is not published measures no durations.
 *
 * @returns a function that ends the publication.
 *
 * @example
 * subscribe('intentbook:storeQueried', (message) => console.log(message));
 * publishDiagnostics({ name: 'sepolia', book });
 */
export function publishDiagnostics(published: DiagnosedBook): () => void {
  assertKnownOptions('publishDiagnostics', published, ['name', 'book']);
  const { name, book } = published;
  requireFunctions('publishDiagnostics: book', book, ['on', 'off']);
  const stops = DIAGNOSTICS_EVENTS.map((each) => publish(name, book, each));
  return () => {
    for (const stop of stops) stop();
  };
}

function publish<E extends keyof OrderBookEvents>(name: string, book: DiagnosedBook['book'], event: E): () => void {
  const target = channel(`intentbook:${event}`);
  const listener = (payload: DiagnosticsMessage<E>['event']) => {
    if (!target.hasSubscribers) return;
    const message: DiagnosticsMessage<E> = { book: name, event: payload };
    target.publish(message);
  };
  // The listener of a generic event name; each takes one argument.
  const added = listener as OrderBookEvents[E];
  book.on(event, added);
  return () => book.off(event, added);
}

import type { Clock } from '../ports/clock.ts';
import type { Stream, StreamEvent, StreamItem, StreamPosition } from '../streams/index.ts';
import { invalidParameter } from '../validation/options.ts';
import type { ApiRequest, ApiResponse } from './message.ts';
import { LAST_EVENT_ID, queryText } from './query.ts';

/** A server-sent event (WHATWG HTML, section 9.2). `data` is one line. Without `event`, clients receive a `message`. */
export interface ServerSentEvent {
  readonly event?: string;
  readonly data: string;
}

/** A source of encoded events. */
export interface EventSource {
  /** Text that opens the stream. */
  readonly opening?: string;
  /** Returns the text that is sent when no event has arrived for a while. Default: a comment. */
  keepAlive?(): string;
  /** Waits for the next encoded events. `undefined` ends the stream. */
  next(): Promise<string | undefined>;
  /** Releases the source. Called once at the end, also when the client disconnects. */
  close(): void | Promise<void>;
}

/** Milliseconds after which a silent stream sends a keep-alive, so that proxies do not close the connection. */
const KEEP_ALIVE_INTERVAL = 15_000;

/** A comment: clients ignore it. */
const COMMENT = ': keep-alive\n\n';

const EVENT_STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  // Compression of a host or a proxy would buffer events.
  'cache-control': 'no-store, no-transform',
  // Disables response buffering in nginx.
  'x-accel-buffering': 'no',
} as const;

/**
 * Creates a response that streams the events of an iterable.
 *
 * @param keepAlive - Event that is sent after 15 seconds without an event. Default: a comment.
 */
export function eventStream<T>(
  events: AsyncIterable<T>,
  render: (event: T) => ServerSentEvent,
  clock: Clock,
  keepAlive?: ServerSentEvent,
): ApiResponse {
  const iterator = events[Symbol.asyncIterator]();
  const silence = keepAlive === undefined ? COMMENT : encode(keepAlive);
  const source: EventSource = {
    keepAlive: () => silence,
    async next() {
      const result = await iterator.next();
      return result.done ? undefined : encode(render(result.value));
    },
    async close() {
      await iterator.return?.();
    },
  };
  return streamResponse(source, clock);
}

/**
 * Creates a response that streams log entries with their ids. It opens with the current position, and keep-alives
 * contain it, so that a client that receives no event can resume from there.
 */
export function resumableEventStream(stream: Stream, clock: Clock): ApiResponse {
  const source: EventSource = {
    opening: `: stream\nid: ${stream.start}\n\n`,
    async next() {
      const events = await stream.take();
      return events.length === 0 ? undefined : events.map(encodeStreamEvent).join('');
    },
    keepAlive: () => (stream.position === undefined ? COMMENT : encodePosition(stream.position)),
    close: stream.leave,
  };
  return streamResponse(source, clock);
}

/**
 * Reads the id of the last event that a client has received: from `Last-Event-ID`, which an `EventSource` sends when it
 * reconnects. Without it, from the query parameter `lastEventId`, since browsers cannot set the header of the first
 * request, and polyfills send no header.
 *
 * @throws OrderBookError `InvalidParameter` if the value is not an id that a stream has sent.
 */
export function lastEventId(request: ApiRequest): number | undefined {
  const header = request.header('last-event-id') || undefined;
  const text = header ?? queryText(new URLSearchParams(request.query), LAST_EVENT_ID);
  if (text === undefined || text === '') return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  const name = header === undefined ? LAST_EVENT_ID : 'Last-Event-ID';
  throw invalidParameter(name, 'must be an id that this stream has sent');
}

const END = { done: true, value: undefined } as const;

/** Writes the events of a source and a keep-alive whenever none has arrived for a while. */
export function streamResponse(source: EventSource, clock: Clock): ApiResponse {
  let opening = source.opening;
  let pending: Promise<string | undefined> | undefined;
  let isSettled = false;
  /** Continues `next` after an event, or with a keep-alive. */
  let wake: (() => void) | undefined;
  let cancelTimer = () => {};
  let closed = false;

  // One timer per stream and interval. A timer per event would be costly with many subscribers.
  function startTimer(): void {
    cancelTimer = clock.after(KEEP_ALIVE_INTERVAL, () => {
      wake?.();
      startTimer();
    });
  }

  /** Begins a read. Keep-alives wait for it without a reaction of their own, which it would keep until its end. */
  function read(): Promise<string | undefined> {
    isSettled = false;
    const event = source.next();
    const onEnd = () => {
      isSettled = true;
      wake?.();
    };
    event.then(onEnd, onEnd);
    return event;
  }

  async function close(): Promise<void> {
    if (closed) return;
    closed = true;
    cancelTimer();
    await source.close();
  }

  let started = false;
  const iterator: AsyncIterator<string> = {
    async next() {
      if (closed) return END;
      if (!started) {
        started = true;
        startTimer();
      }
      if (opening !== undefined) {
        const value = opening;
        opening = undefined;
        return { done: false, value };
      }
      pending ??= read();
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (isSettled) resolve();
      });
      wake = undefined;
      if (!isSettled) return { done: false, value: source.keepAlive?.() ?? COMMENT };
      const current = pending;
      pending = undefined;
      const value = await current.catch(async (failure: unknown) => {
        await close(); // a reader does not end an iteration that has failed
        throw failure;
      });
      if (value !== undefined) return { done: false, value };
      await close();
      return END;
    },
    async return() {
      await close();
      return END;
    },
  };
  return { status: 200, headers: EVENT_STREAM_HEADERS, body: { [Symbol.asyncIterator]: () => iterator } };
}

function encode({ event, data }: ServerSentEvent): string {
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${data}\n\n`;
}

/** Encoded items. Each item is encoded once for all its subscribers. */
const encodedItems = new WeakMap<StreamItem, string>();

function encodeStreamEvent(event: StreamEvent | StreamPosition): string {
  if (event.type === 'position') return encodePosition(event.id);
  // A gap has no id: a client that reconnects right after it receives the entries that the gap left out.
  if (event.type === 'gap') return encode({ event: 'gap', data: JSON.stringify({ from: event.from, to: event.to }) });
  let text = encodedItems.get(event);
  if (text === undefined) {
    text = `id: ${event.id}\n${encode(event)}`;
    encodedItems.set(event, text);
  }
  return text;
}

/** Clients keep the id, and emit no event because there is no data. */
const encodePosition = (id: number) => `: keep-alive\nid: ${id}\n\n`;

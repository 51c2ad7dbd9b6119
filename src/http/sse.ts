import type { Clock } from '../ports/clock.ts';
import type { ApiResponse } from './message.ts';

/** A server-sent event: its name, unless it is a plain message, and its data on one line. */
export interface ServerSentEvent {
  readonly event?: string;
  readonly data: string;
}

/** What is sent when nothing has been for a while, so that nobody on the way takes the connection for dead. */
export interface KeepAlive {
  readonly clock: Clock;
  /** An event to send. Default: a comment, which no client hears of. */
  readonly event?: ServerSentEvent;
}

/** After how long, in milliseconds (decision 5.6). */
const QUIET = 15_000;

/**
 * Answers with a stream of server-sent events (WHATWG HTML, section 9.2). Its reader's leaving reaches the source of
 * the events even while that waits.
 */
export function eventStream<T>(
  events: AsyncIterable<T>,
  render: (event: T) => ServerSentEvent,
  keepAlive?: KeepAlive,
): ApiResponse {
  const source = events[Symbol.asyncIterator]();
  const pull = keepAlive === undefined ? () => source.next() : pulling(source, keepAlive.clock);
  const text: AsyncIterator<string> = {
    async next() {
      const result = await pull();
      if (result === 'quiet') return { done: false, value: textOf(keepAlive?.event) };
      return result.done ? { done: true, value: undefined } : { done: false, value: textOf(render(result.value)) };
    },
    async return() {
      await source.return?.();
      return { done: true, value: undefined };
    },
  };
  return {
    status: 200,
    headers: EVENT_STREAM_HEADERS,
    body: { [Symbol.asyncIterator]: () => text },
  };
}

export const EVENT_STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  // A proxy that gathers the answer would keep it until the end.
  'x-accel-buffering': 'no',
} as const;

/** Pulls one event after the other, or says that none has come for a while. The one that comes then is told next. */
function pulling<T>(source: AsyncIterator<T>, clock: Clock): () => Promise<IteratorResult<T> | 'quiet'> {
  let asked = false;
  let arrived: Promise<IteratorResult<T>> | undefined;
  let wake = () => {};
  return async () => {
    if (!asked) {
      asked = true;
      const next = source.next();
      const arrive = () => {
        arrived = next;
        wake();
      };
      next.then(arrive, arrive);
    }
    if (arrived === undefined) {
      await new Promise<void>((resolve) => {
        const cancel = clock.after(QUIET, resolve);
        wake = () => {
          cancel();
          resolve();
        };
      });
    }
    if (arrived === undefined) return 'quiet';
    const result = arrived;
    arrived = undefined;
    asked = false;
    return result;
  };
}

function textOf(sent: ServerSentEvent | undefined): string {
  if (sent === undefined) return ':\n\n';
  return `${sent.event === undefined ? '' : `event: ${sent.event}\n`}data: ${sent.data}\n\n`;
}

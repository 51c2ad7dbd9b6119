import type { ApiResponse } from './message.ts';

/** A server-sent event: its name, unless it is a plain message, and its data on one line. */
export interface ServerSentEvent {
  readonly event?: string;
  readonly data: string;
}

/**
 * Answers with a stream of server-sent events (WHATWG HTML, section 9.2). Its reader's leaving reaches the source of
 * the events even while that waits.
 */
export function eventStream<T>(events: AsyncIterable<T>, render: (event: T) => ServerSentEvent): ApiResponse {
  const source = events[Symbol.asyncIterator]();
  const text: AsyncIterator<string> = {
    async next() {
      const { done, value } = await source.next();
      if (done) return { done: true, value: undefined };
      const { event, data } = render(value);
      return { done: false, value: `${event === undefined ? '' : `event: ${event}\n`}data: ${data}\n\n` };
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

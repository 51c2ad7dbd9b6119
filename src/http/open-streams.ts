import type { ApiResponse } from './message.ts';

const END = { done: true, value: undefined } as const;

/** Tracks event streams, so that a server can stop without waiting for them. */
export function createOpenStreams() {
  const open = new Set<() => void>();
  let closed = false;

  function closable(source: AsyncIterator<string>): AsyncIterator<string> {
    let ended = closed;
    let wake = () => {};
    const close = () => {
      ended = true;
      open.delete(close);
      wake();
      Promise.resolve(source.return?.()).catch(() => {}); // the client has disconnected
    };
    if (ended) close();
    else open.add(close);
    return {
      next: () =>
        new Promise((resolve, reject) => {
          if (ended) return resolve(END);
          wake = () => resolve(END);
          source.next().then((result) => {
            if (result.done) open.delete(close);
            resolve(result);
          }, reject);
        }),
      async return() {
        open.delete(close);
        await source.return?.();
        return END;
      },
    };
  }

  return {
    get size(): number {
      return open.size;
    },
    /** Returns the body of a response. If it is an event stream, it ends when the server closes. */
    track({ headers, body }: ApiResponse): ApiResponse['body'] {
      // A file is sent to its end, so that a client does not take a part of it for the whole.
      const isEndless = headers['content-type'] === 'text/event-stream';
      if (!isEndless || typeof body !== 'object' || !(Symbol.asyncIterator in body)) return body;
      return { [Symbol.asyncIterator]: () => closable(body[Symbol.asyncIterator]()) };
    },
    /** Ends all open streams and every later one. */
    close(): void {
      closed = true;
      for (const close of [...open]) close();
    },
  };
}

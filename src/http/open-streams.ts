/** The open event streams of a server or a mount. */
export type OpenStreams = ReturnType<typeof createOpenStreams>;

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
    /** Number of open streams. */
    get size(): number {
      return open.size;
    },
    /** Returns the same stream, which ends when the server closes. */
    track: (source: AsyncIterable<string>): AsyncIterable<string> => ({
      [Symbol.asyncIterator]: () => closable(source[Symbol.asyncIterator]()),
    }),
    /** Ends all open streams and every later one. */
    close(): void {
      closed = true;
      for (const close of [...open]) close();
    },
  };
}

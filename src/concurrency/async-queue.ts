/** Values on their way to one reader, who may be slower than they come, or leave. */
export interface AsyncQueue<T> extends AsyncIterable<T> {
  /** Nothing more will come. */
  readonly finished: boolean;
  push(value: T): void;
  /** Ends it. What has been pushed is still read. */
  finish(): void;
  /** Ends it as its reader does who leaves early. */
  leave(): void;
}

/**
 * Makes a queue. Written by hand, since an async generator that waits for something does not hear that its reader leaves.
 *
 * @param onLeave told once when the reader leaves before the end.
 */
export function createAsyncQueue<T>(onLeave: () => void): AsyncQueue<T> {
  let values: T[] = [];
  let waiting: ((result: IteratorResult<T>) => void)[] = [];
  let finished = false;

  function finish(): void {
    finished = true;
    const readers = waiting;
    waiting = [];
    for (const resolve of readers) resolve(END);
  }

  function leave(): void {
    values = [];
    if (finished) return;
    finish();
    onLeave();
  }

  const iterator: AsyncIterator<T> = {
    async next() {
      if (values.length > 0) return { done: false, value: values.shift() as T }; // there is one
      if (finished) return END;
      return new Promise((resolve) => waiting.push(resolve));
    },
    async return() {
      leave();
      return END;
    },
  };

  return {
    get finished() {
      return finished;
    },
    push(value) {
      if (finished) return;
      const next = waiting.shift();
      if (next === undefined) values.push(value);
      else next({ done: false, value });
    },
    finish,
    leave,
    [Symbol.asyncIterator]: () => iterator,
  };
}

const END = { done: true, value: undefined } as const;

/** An unbounded queue with one reader, which may read slowly or stop early. */
export interface AsyncQueue<T> extends AsyncIterable<T> {
  /** Whether the queue was ended. */
  readonly finished: boolean;
  push(value: T): void;
  /** Ends the queue. Values already pushed are still read. */
  finish(): void;
  /** Ends the queue as if the reader had stopped early: values already pushed are dropped. */
  leave(): void;
}

/**
 * Creates a queue. An async generator would not do: while it waits, it does not receive its reader's `return`.
 *
 * @param onLeave - Called once if the reader stops before the end.
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
      if (values.length > 0) return { done: false, value: values.shift() as T }; // the length was checked
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

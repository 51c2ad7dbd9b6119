/** Maps the values of an async iterable. Ending the result early ends the source. */
export function mapAsync<T, U>(source: AsyncIterable<T>, map: (value: T) => U): AsyncIterable<U> {
  const inner = source[Symbol.asyncIterator]();
  const iterator: AsyncIterator<U> = {
    async next() {
      const { done, value } = await inner.next();
      return done ? { done: true, value: undefined } : { done: false, value: map(value) };
    },
    async return() {
      await inner.return?.();
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

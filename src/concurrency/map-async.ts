/** The same iterable with each value turned into another. Whoever leaves it leaves the source. */
export function mapAsync<T, U>(source: AsyncIterable<T>, turn: (value: T) => U): AsyncIterable<U> {
  const from = source[Symbol.asyncIterator]();
  const iterator: AsyncIterator<U> = {
    async next() {
      const { done, value } = await from.next();
      return done ? { done: true, value: undefined } : { done: false, value: turn(value) };
    },
    async return() {
      await from.return?.();
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

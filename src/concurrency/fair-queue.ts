/** A queue of several clients, which take turns. Values of one client keep their order. */
export interface FairQueue<T> {
  /** Number of values. */
  readonly size: number;
  push(client: string, value: T): void;
  /** Removes the next value of the client whose turn it is. Passes over clients that are not ready. */
  shift(isReady?: (client: string) => boolean): T | undefined;
}

/** Creates a queue, so that a client with many values does not delay the values of the others. */
export function createFairQueue<T>(): FairQueue<T> {
  /** In the order of turns: a client that had its turn moves to the end. */
  const queues = new Map<string, T[]>();
  let size = 0;
  return {
    get size() {
      return size;
    },
    push(client, value) {
      const queue = queues.get(client);
      if (queue === undefined) queues.set(client, [value]);
      else queue.push(value);
      size++;
    },
    shift(isReady = () => true) {
      for (const [client, queue] of queues) {
        if (!isReady(client)) continue;
        queues.delete(client);
        const value = queue.shift();
        if (queue.length > 0) queues.set(client, queue);
        size--;
        return value;
      }
      return undefined;
    },
  };
}

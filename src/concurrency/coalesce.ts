interface Flight {
  readonly result: Promise<unknown>;
  /** The read that starts after this one. All callers that arrived meanwhile share it. */
  next?: Promise<unknown>;
}

/**
 * Creates a function that coalesces concurrent reads with the same key.
 *
 * A caller that arrives during a read does not get its result, which may predate a change that the caller knows of. It
 * shares the next read with all callers that arrived meanwhile. So at most two reads of a key run or wait at any time.
 */
export function createRequestCoalescer() {
  const current = new Map<string, Flight>();

  function start<T>(key: string, read: () => Promise<T>): Promise<T> {
    const result = read();
    const flight: Flight = { result };
    current.set(key, flight);
    const clear = () => {
      if (current.get(key) === flight) current.delete(key);
    };
    result.then(clear, clear);
    return result;
  }

  return function share<T>(key: string, read: () => Promise<T>): Promise<T> {
    const flight = current.get(key);
    if (flight === undefined) return start(key, read);
    const startNext = () => start(key, read);
    flight.next ??= flight.result.then(startNext, startNext);
    return flight.next as Promise<T>; // a key always stands for the same kind of read
  };
}

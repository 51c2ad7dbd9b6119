/**
 * Lets identical reads share one answer. One that comes while another is under way does not take that one's answer, which
 * may be from before a change that its caller knows of: it waits for the next, together with all who come meanwhile. So
 * however many ask at once, the store is asked twice at most.
 */
export function createRequestCoalescer() {
  const current = new Map<string, { readonly landed: Promise<unknown>; next?: Promise<unknown> }>();

  function depart<T>(key: string, read: () => Promise<T>): Promise<T> {
    const landed = read();
    const flight = { landed };
    current.set(key, flight);
    const clear = () => {
      if (current.get(key) === flight) current.delete(key);
    };
    landed.then(clear, clear);
    return landed;
  }

  return function share<T>(key: string, read: () => Promise<T>): Promise<T> {
    const flight = current.get(key);
    if (flight === undefined) return depart(key, read);
    const again = () => depart(key, read);
    flight.next ??= flight.landed.then(again, again);
    return flight.next as Promise<T>; // a key stands for one kind of read
  };
}

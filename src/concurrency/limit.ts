import { yieldToEventLoop } from '../ports/clock.ts';

/**
 * Creates a queue of several clients, which take turns: one with many values does not delay the values of the others.
 * Values of one client keep their order.
 */
export function createFairQueue<T>() {
  /** In the order of turns: a client that had its turn moves to the end. */
  const queues = new Map<string, T[]>();
  let size = 0;
  return {
    /** Number of values. */
    get size(): number {
      return size;
    },
    push(client: string, value: T): void {
      const queue = queues.get(client);
      if (queue === undefined) queues.set(client, [value]);
      else queue.push(value);
      size++;
    },
    /** Removes the next value of the client whose turn it is. Passes over clients that are not ready. */
    shift(isReady: (client: string) => boolean = () => true): T | undefined {
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

/** Runs at most a fixed number of jobs concurrently. Clients take turns; jobs of one client keep their order. */
export type ConcurrencyLimit = ReturnType<typeof createConcurrencyLimit>;

/**
 * Creates a limit of `max` concurrent jobs, of which one client has at most `maxPerClient`. The queue is unbounded: its
 * callers are bounded elsewhere.
 */
export function createConcurrencyLimit(max: number, maxPerClient = max) {
  const queue = createFairQueue<() => void>();
  const running = new Map<string, number>();
  let total = 0;

  const isReady = (client: string) => (running.get(client) ?? 0) < maxPerClient;

  function start(client: string): void {
    total++;
    running.set(client, (running.get(client) ?? 0) + 1);
  }

  function release(client: string): void {
    total--;
    const left = (running.get(client) ?? 1) - 1;
    if (left > 0) running.set(client, left);
    else running.delete(client);
    if (total < max) queue.shift(isReady)?.();
  }

  return {
    /** Number of jobs that wait. */
    get waiting(): number {
      return queue.size;
    },
    /** @param client - The client that waits for the job. Default: the process itself. */
    async run<T>(job: () => Promise<T>, client: string = ''): Promise<T> {
      if (total < max && isReady(client)) start(client);
      else await new Promise<void>((resolve) => queue.push(client, () => resolve(start(client))));
      try {
        return await job();
      } finally {
        release(client);
      }
    },
  };
}

/**
 * Creates a throttle that admits `perTick` callers per tick of the event loop. Other work of the process runs in
 * between, however many callers arrive at once.
 */
export function createThrottle(perTick: number, nextTick: () => Promise<void> = yieldToEventLoop) {
  const queue = createFairQueue<() => void>();
  let admitted = 0;

  async function release(): Promise<void> {
    while (admitted > 0) {
      await nextTick();
      for (admitted = 0; admitted < perTick && queue.size > 0; admitted++) queue.shift()?.();
    }
  }

  return {
    /** Number of callers that wait for a later tick. */
    get waiting(): number {
      return queue.size;
    },
    /**
     * Waits until the caller may work. Clients take turns; callers of one client are admitted in the order of arrival.
     *
     * @param client - Returns the client; called only if the caller must wait. Default: the process itself.
     */
    acquire(client?: () => string): Promise<void> {
      if (admitted === perTick) return new Promise((resolve) => queue.push(client?.() ?? '', resolve));
      if (admitted++ === 0) void release();
      return Promise.resolve();
    },
  };
}

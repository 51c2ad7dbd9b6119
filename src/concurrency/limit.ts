import { createFairQueue } from './fair-queue.ts';

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

/** Runs at most a fixed number of jobs concurrently; the others wait in order of arrival. */
export interface ConcurrencyLimit {
  /** Number of jobs that wait. */
  readonly waiting: number;
  run<T>(job: () => Promise<T>): Promise<T>;
}

/** Creates a limit of `max` concurrent jobs. The queue is unbounded: its callers are bounded elsewhere. */
export function createConcurrencyLimit(max: number): ConcurrencyLimit {
  const queue: (() => void)[] = [];
  let running = 0;

  function release(): void {
    const next = queue.shift();
    if (next === undefined) running--;
    else next();
  }

  return {
    get waiting() {
      return queue.length;
    },
    async run(job) {
      if (running < max) running++;
      else await new Promise<void>((resolve) => queue.push(resolve));
      try {
        return await job();
      } finally {
        release();
      }
    },
  };
}

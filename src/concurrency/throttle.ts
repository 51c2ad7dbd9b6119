import { yieldToEventLoop } from './yield.ts';

/** Spreads work over ticks of the event loop. */
export interface Throttle {
  /** Number of callers that wait for a later tick. */
  readonly waiting: number;
  /** Waits until the caller may work, in the order of arrival. */
  acquire(): Promise<void>;
}

/**
 * Creates a throttle that admits `perTick` callers per tick of the event loop. Other work of the process runs in
 * between, however many callers arrive at once.
 */
export function createThrottle(perTick: number, nextTick: () => Promise<void> = yieldToEventLoop): Throttle {
  const queue: (() => void)[] = [];
  let admitted = 0;

  async function release(): Promise<void> {
    while (admitted > 0) {
      await nextTick();
      const next = queue.splice(0, perTick);
      admitted = next.length;
      for (const admit of next) admit();
    }
  }

  return {
    get waiting() {
      return queue.length;
    },
    acquire() {
      if (admitted === perTick) return new Promise((resolve) => queue.push(resolve));
      if (admitted++ === 0) void release();
      return Promise.resolve();
    },
  };
}

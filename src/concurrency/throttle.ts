import { createFairQueue } from './fair-queue.ts';
import { yieldToEventLoop } from './yield.ts';

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

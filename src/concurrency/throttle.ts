import { yieldToEventLoop } from './yield.ts';

/** Spreads work over turns of the event loop. */
export interface Throttle {
  /** How many wait for a later turn. */
  readonly waiting: number;
  /** Waits for one's turn, in the order of arrival. */
  acquire(): Promise<void>;
}

/**
 * Lets `perTurn` pieces of work through in a turn of the event loop and holds back the rest. However much arrives at
 * once, whatever else the process does has its turn in between.
 */
export function createThrottle(perTurn: number, turn: () => Promise<void> = yieldToEventLoop): Throttle {
  const queue: (() => void)[] = [];
  let passed = 0;

  async function release(): Promise<void> {
    while (passed > 0) {
      await turn();
      const next = queue.splice(0, perTurn);
      passed = next.length;
      for (const pass of next) pass();
    }
  }

  return {
    get waiting() {
      return queue.length;
    },
    acquire() {
      if (passed === perTurn) return new Promise((resolve) => queue.push(resolve));
      if (passed++ === 0) void release();
      return Promise.resolve();
    },
  };
}

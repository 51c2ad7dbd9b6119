import { StoreError } from 'intentbook';

/**
 * A part of a sandbox that can be made to fail: `commit` is storing orders, `read` is reading orders, `node` is a
 * request of the book to the node, `quote` is a price estimate.
 */
export type FaultPoint = (typeof FAULT_POINTS)[number];

export const FAULT_POINTS = ['commit', 'read', 'node', 'quote'] as const;

/** Failures that a test has requested. */
export type Faults = ReturnType<typeof createFaults>;

/** Creates a switchboard without failures. */
export function createFaults() {
  const left = new Map<FaultPoint, number>();
  let nodeDelay = 0;
  return {
    /** Makes the next operations at a point fail. */
    fail: (point: FaultPoint, times: number): void => void left.set(point, times),
    /** Delays requests to the node, in milliseconds. */
    delayNode(ms: number): void {
      nodeDelay = ms;
    },
    /** Makes everything work again. */
    clear(): void {
      left.clear();
      nodeDelay = 0;
    },
    /** Checks whether the next operation at a point will fail. */
    isActive: (point: FaultPoint): boolean => (left.get(point) ?? 0) > 0,
    /** Waits and throws, if the operation is to fail. */
    async pass(point: FaultPoint): Promise<void> {
      if (point === 'node' && nodeDelay > 0) await new Promise((resolve) => setTimeout(resolve, nodeDelay));
      const times = left.get(point) ?? 0;
      if (times <= 0) return;
      left.set(point, times - 1);
      throw failureAt(point);
    },
  };
}

function failureAt(point: FaultPoint): Error {
  const message = `the sandbox simulates a failure of "${point}"`;
  return point === 'commit' || point === 'read' ? new StoreError('Unavailable', message) : new Error(message);
}

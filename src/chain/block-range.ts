/** With fewer logs in a response the next range may grow; with twice as many it shrinks. */
const TARGET_LOGS = 2000;

/** Successful requests after which the ceiling doubles. */
const SUCCESSES_PER_RAISE = 10;

/** The number of blocks of the next log request to a node. */
export type BlockRange = ReturnType<typeof createBlockRange>;

/**
 * Creates an adaptive block range, in blocks up to `largest`.
 *
 * Nodes limit requests by blocks, logs or time, and report it in different ways. So only success counts. A size that
 * was rejected is not tried again before many requests have succeeded.
 */
export function createBlockRange(largest: number) {
  let size = Math.min(1000, largest);
  let ceiling = largest;
  let successes = 0;
  return {
    get size(): number {
      return size;
    },
    /** Records that a request for `blocks` blocks failed. */
    rejected(blocks: number): void {
      size = Math.max(1, Math.floor(blocks / 2));
      ceiling = Math.max(1, Math.floor((blocks * 3) / 4));
      successes = 0;
    },
    /** Records that a request returned `logs` logs. */
    succeeded(logs: number): void {
      if (++successes % SUCCESSES_PER_RAISE === 0) ceiling = Math.min(largest, 2 * ceiling);
      if (logs < TARGET_LOGS) size = Math.min(ceiling, 2 * size);
      else if (logs > 2 * TARGET_LOGS) size = Math.max(1, Math.floor(size / 2));
    },
  };
}

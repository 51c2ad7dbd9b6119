/** How many blocks a node is asked for at once. */
export interface BlockRange {
  readonly size: number;
  /** So many were too many. */
  rejected(asked: number): void;
  /** So many logs came. */
  answered(logs: number): void;
}

/** With fewer logs than this in an answer, the next one may have more; with twice as many, it should have fewer. */
const COMFORTABLE = 2000;

/** Answers after which a node is believed to have become more generous. */
const PATIENCE = 10;

/**
 * Finds out what a node answers with ease. Every node has limits of its own, by blocks, by logs or by time, and rejects in
 * words of its own: so only the outcome counts. What was rejected is not tried again until much else has gone well.
 */
export function createRange(largest: number): BlockRange {
  let size = Math.min(1000, largest);
  let ceiling = largest;
  let answers = 0;
  return {
    get size() {
      return size;
    },
    rejected(asked) {
      size = Math.max(1, Math.floor(asked / 2));
      ceiling = Math.max(1, Math.floor((asked * 3) / 4));
      answers = 0;
    },
    answered(logs) {
      if (++answers % PATIENCE === 0) ceiling = Math.min(largest, 2 * ceiling);
      if (logs < COMFORTABLE) size = Math.min(ceiling, 2 * size);
      else if (logs > 2 * COMFORTABLE) size = Math.max(1, Math.floor(size / 2));
    },
  };
}

import type { AbortState } from './abort.ts';

/** Counts the rows that a read takes from the store, for the rate limit. */
export interface RowMeter {
  rows: number;
}

/** Options of a read. */
export interface ReadOptions {
  /** Ends the read between two steps when the result is no longer needed. */
  readonly signal?: AbortState;
  /** Receives the number of rows that were read, including skipped ones. */
  readonly meter?: RowMeter;
}

/** Adds rows to the meter of a read. */
export function countRows({ meter }: ReadOptions, rows: number): void {
  if (meter !== undefined) meter.rows += rows;
}

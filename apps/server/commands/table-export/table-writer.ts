import type { Row } from './columns.ts';

/** Writes rows to a file. */
export interface TableWriter {
  write(rows: readonly Row[]): Promise<void>;
  /** Completes the file. When its promise is fulfilled, the file is on stable storage. */
  finish(): Promise<void>;
  /** Closes an incomplete file. */
  abort(): Promise<void>;
}

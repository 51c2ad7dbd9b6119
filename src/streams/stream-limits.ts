import { assertKnownOptions } from '../validation/options.ts';

/** What streams may hold back for a reader. */
export interface StreamLimits {
  /** How many events may wait for a reader that is slow; the next one makes a gap of them all. Default 256. */
  readonly queueSize?: number;
  /**
   * How many entries of the log, of all readers, one that comes back may have missed; earlier ones are a gap. Default 10,000
   * for orders, whose log is read entry by entry, and any number for notifications, which are found by their account.
   */
  readonly resumeLimit?: number;
}

/** @throws TypeError naming the limit that is unknown or malformed. */
export function readStreamLimits(where: string, limits: StreamLimits, resumeLimit = 10_000): Required<StreamLimits> {
  assertKnownOptions(`${where}, streams`, limits, ['queueSize', 'resumeLimit']);
  const read = { queueSize: 256, resumeLimit, ...limits };
  for (const [name, value] of Object.entries(read)) {
    if (!Number.isSafeInteger(value) || value < 1)
      throw new TypeError(`${where}: streams.${name} must be a positive number`);
  }
  return read;
}

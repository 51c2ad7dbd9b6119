import { assertKnownOptions, requireInteger } from '../validation/options.ts';

/** Limits of streams. */
export interface StreamLimits {
  /** Maximum number of events that wait for a slow subscriber. One more turns all of them into a gap. Default: 256. */
  readonly queueSize?: number;
  /**
   * Maximum number of log entries that a subscriber can resume over; older ones become a gap. The entries of all
   * subscribers count. Default: 10000 for orders; no limit for notifications, which are indexed by account.
   */
  readonly resumeLimit?: number;
}

/** Parses stream limits. @throws TypeError naming the limit that is unknown or malformed. */
export function parseStreamLimits(where: string, limits: StreamLimits, resumeLimit = 10_000): Required<StreamLimits> {
  assertKnownOptions(`${where}, streams`, limits, ['queueSize', 'resumeLimit']);
  const { queueSize = 256, resumeLimit: mostEntries = resumeLimit } = limits;
  const parsed = { queueSize, resumeLimit: mostEntries };
  for (const [name, value] of Object.entries(parsed)) {
    requireInteger(`${where}: streams.${name}`, value, 1);
  }
  return parsed;
}

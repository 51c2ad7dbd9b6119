import type { LogPruneRequest, StoredEvent } from 'intentbook';
import { countOldEntries } from 'intentbook/store-kit';

/** Deletes the first entries of a log, except for the newest. @returns their number. */
export function pruneLog(log: StoredEvent[], { before, through, limit }: LogPruneRequest): number {
  const due = log.slice(0, Math.min(limit, log.length - 1)).filter(({ id }) => id <= through);
  const count = countOldEntries(
    due.map(({ at }) => at),
    before,
  );
  log.splice(0, count);
  return count;
}

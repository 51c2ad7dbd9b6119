import type { Store, StoredEvent } from 'intentbook';
import { isSameIncarnation } from 'intentbook/store-kit';

/** Log entries per step. */
const BATCH = 500;

/** Iterates over the entries of a log above `after`, up to `through`. */
export async function* readLog(
  { events }: Pick<Store, 'events'>,
  after: number,
  through: number,
): AsyncGenerator<readonly StoredEvent[]> {
  for (let last = after; last < through; ) {
    const batch = (await events.after(last, BATCH)).filter(({ id }) => id <= through);
    const end = batch.at(-1);
    if (end === undefined) return;
    yield batch;
    last = end.id;
  }
}

/** @throws Error if a position is not one of the log, for example after a restore from a backup. */
export function assertCursor(after: number, last: number): void {
  if (after > last) throw new Error(`after must be a position of the log, at most ${last}, got ${after}`);
  if (isSameIncarnation(after, last)) return;
  throw new Error(`after must be a position of the current log, got ${after}; export all rows`);
}

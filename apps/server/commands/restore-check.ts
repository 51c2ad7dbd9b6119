import type { Domain, Store, StoredEvent } from 'intentbook';
import { withStore } from '../books/open-books.ts';
import type { StoreLocation } from '../config/plan.ts';
import type { Progress } from './progress.ts';
import type { Verified } from './verify.ts';
import { verifyBook } from './verify.ts';

/** Log entries that are read in one step. */
const PAGE = 1_000;

/** What a restore of a backup would lose: the log entries of the present book that the backup does not have. */
export interface LostEntries {
  readonly entries: number;
  /** Orders that were created since. */
  readonly orders: number;
  /** Numbers of entries by type. */
  readonly types: Readonly<Record<string, number>>;
  /** Time of the first lost entry, ISO 8601; null if none is lost. */
  readonly since: string | null;
}

export interface RestoreCheck extends Verified {
  /** Id of the newest log entry of the backup. */
  readonly last: number;
  /** Time of that entry, ISO 8601; null for an empty log. */
  readonly at: string | null;
  readonly lost: LostEntries | { readonly unknown: string };
}

/**
 * Verifies the file of a backup and compares its log with that of the present book. Both are only read.
 *
 * @param present - The present book, which a server may have open. It may be missing or damaged.
 */
export async function checkBackup(
  backup: string,
  present: StoreLocation,
  domain: Domain,
  progress: Progress,
): Promise<RestoreCheck> {
  const { checkSqliteFile } = await import('intentbook/sqlite');
  // Orders and the log are read below, but not chain events, auctions and indexes.
  await checkSqliteFile({ path: backup });
  return withStore({ kind: 'file', path: backup }, true, domain, async (store) => {
    const verified = await verifyBook(store, domain, progress);
    const last = await store.events.last();
    const [newest] = last === 0 ? [] : await store.events.after(last - 1, 1);
    const lost = await withStore(present, true, domain, (other) => listLost(other, last, newest)).catch(
      (error: unknown) => ({
        unknown: error instanceof Error ? error.message : String(error),
      }),
    );
    return { ...verified, last, at: newest === undefined ? null : formatTime(newest.at), lost };
  });
}

async function listLost(
  { events }: Store,
  last: number,
  newest: StoredEvent | undefined,
): Promise<RestoreCheck['lost']> {
  if (newest !== undefined) {
    const [same] = await events.after(last - 1, 1);
    const isSame =
      same?.id === newest.id && same.uid === newest.uid && same.at === newest.at && same.type === newest.type;
    if (!isSame) return { unknown: 'the log of the present book does not contain the newest entry of the backup' };
  }
  const types: Record<string, number> = {};
  let [entries, after] = [0, last];
  let since: string | null = null;
  for (;;) {
    const page = await events.after(after, PAGE);
    for (const { type, at } of page) {
      types[type] = (types[type] ?? 0) + 1;
      since ??= formatTime(at);
    }
    entries += page.length;
    after = page.at(-1)?.id ?? after;
    if (page.length < PAGE) return { entries, orders: types['created'] ?? 0, types, since };
  }
}

const formatTime = (at: number) => new Date(at).toISOString();

/** Describes what a restore would lose. */
export function describeLost({ last, at, lost }: RestoreCheck): string {
  const state = at === null ? 'the backup has an empty log' : `the backup is complete up to log entry ${last} of ${at}`;
  if ('unknown' in lost) return `${state}; the loss is unknown: ${lost.unknown}`;
  if (lost.entries === 0) return `${state}; a restore loses nothing`;
  const types = Object.entries(lost.types).map(([type, count]) => `${count} ${type}`);
  return `${state}; a restore loses ${lost.entries} entries since ${lost.since}: ${types.join(', ')}`;
}

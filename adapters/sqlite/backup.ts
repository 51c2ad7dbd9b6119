import { existsSync } from 'node:fs';
import { StoreError } from 'intentbook';
import { toStoreError } from './driver.ts';

/** How a file is copied while it is served. */
export interface SqliteBackupOptions {
  /** The file of a book, which a server may be writing to. */
  readonly from: string;
  /** The file to make. It must not be there. */
  readonly to: string;
  /** Is told how many of the file's pages are copied. */
  readonly onProgress?: (copied: number, total: number) => void;
}

/** Pages that are copied without a break for those who write: 4 MiB. */
const STEP = 1024;

/**
 * Copies a live book into another file, as it is at one moment, while it goes on being written to. The copy belongs to
 * no process, and is checked before this resolves.
 *
 * @throws StoreError saying which file cannot be read or made.
 */
export async function backupSqlite({ from, to, onProgress }: SqliteBackupOptions): Promise<void> {
  if (existsSync(to)) throw new StoreError('Unavailable', `the file "${to}" is there already`);
  const driver = await import('better-sqlite3').catch((cause: unknown) => {
    throw new StoreError('Unavailable', 'a backup needs the package better-sqlite3; install it beside intentbook', {
      cause,
    });
  });
  try {
    const source = new driver.default(from, { readonly: true, fileMustExist: true });
    try {
      await source.backup(to, {
        progress({ totalPages, remainingPages }) {
          onProgress?.(totalPages - remainingPages, totalPages);
          return STEP;
        },
      });
    } finally {
      source.close();
    }
    const copy = new driver.default(to);
    try {
      // Whoever writes to the original does not write to the copy.
      copy.exec('DELETE FROM lease');
      const said = copy.pragma('quick_check', { simple: true });
      if (said !== 'ok') throw new StoreError('Unavailable', `the copy "${to}" is damaged`);
    } finally {
      copy.close();
    }
  } catch (cause) {
    throw toStoreError(`copy "${from}" to "${to}"`, cause);
  }
}

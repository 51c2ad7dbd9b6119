import { statSync } from 'node:fs';
import { StoreError } from 'intentbook';

/** Compares the files of a database with those that were opened. */
export type FileWatch = ReturnType<typeof createFileWatch>;

/**
 * Creates a watch of the database file and its write-ahead log. A process keeps writing to a file that was deleted or
 * replaced, and every order that it acknowledges would be gone at the next start.
 *
 * @param path - Path of the database file. A database in memory has no files.
 */
export function createFileWatch(path: string) {
  const names = path === '' || path === ':memory:' || path.startsWith('file:') ? [] : [path, `${path}-wal`];
  let opened: readonly (readonly [name: string, identity: string])[] = [];
  return {
    /** Remembers the files. The write-ahead log exists after the first write. */
    remember(): void {
      opened = names.flatMap((name) => {
        const identity = getIdentity(name);
        return identity === undefined ? [] : [[name, identity]];
      });
    },
    /**
     * Checks the files.
     *
     * @param onLogDeleted - Called if only the write-ahead log was deleted. Its content is still in the open file.
     * @throws StoreError `WriterLost` if a file was replaced or deleted: later writes are lost.
     */
    assertUnchanged(onLogDeleted: () => void): void {
      for (const [name, identity] of opened) {
        const now = getIdentity(name);
        if (now === identity) continue;
        const event = now === undefined ? 'deleted' : 'replaced';
        // The loop has found the database file unchanged before.
        if (event === 'deleted' && name.endsWith('-wal')) onLogDeleted();
        throw new StoreError(
          'WriterLost',
          `the file "${name}" was ${event} while it was open; stop the book and restore it`,
        );
      }
    },
  };
}

/** Returns the device and the inode of a file as text. `undefined` if it does not exist or cannot be read. */
function getIdentity(name: string): string | undefined {
  const stats = statSync(name, { throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}

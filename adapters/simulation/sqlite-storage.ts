import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from 'intentbook';
import { backupSqlite, sqliteStore } from 'intentbook/sqlite';
import type { SimulatedStorage } from './storages.ts';

/** A process id that no process has: it is above the maximum of the kernel. */
const ENDED_PROCESS = 2 ** 22 + 1;

/**
 * Creates a storage in a temporary SQLite file. A process that is killed leaves its store open and never uses it again;
 * its lease names a process that has ended.
 */
export async function createSqliteStorage(): Promise<SimulatedStorage> {
  const { default: Database } = await import('better-sqlite3');
  const folder = mkdtempSync(join(tmpdir(), 'intentbook-simulation-'));
  let path = join(folder, 'book.sqlite');
  let backups = 0;
  const stores: Store[] = [];
  const connect = () => {
    const store = sqliteStore({ path, synchronous: 'OFF' });
    stores.push(store);
    return store;
  };
  const { traits } = sqliteStore({ path });
  return {
    processes: 1,
    // The thread that writes may end before it has reported a result.
    faults: ['fail', 'full', 'slow', 'lose'],
    opens: true,
    connect,
    traits,
    abandon() {
      const database = new Database(path);
      database.prepare('UPDATE lease SET pid = ?').run(ENDED_PROCESS);
      database.close();
    },
    async restore() {
      const to = join(folder, `backup-${++backups}.sqlite`);
      await backupSqlite({ from: path, to });
      path = to;
    },
    async dispose() {
      for (const store of stores) await store.close().catch(() => {}); // a newer store has the lease
      rmSync(folder, { recursive: true });
    },
  };
}

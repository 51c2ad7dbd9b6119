import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock, Store } from 'intentbook';
import { backupSqlite, sqliteAccountStore, sqliteStore } from 'intentbook/sqlite';
import type { SimulatedStorage } from './storages.ts';

/** A process id that no process has: it is above the maximum of the kernel. */
const ENDED_PROCESS = 2 ** 22 + 1;

/**
 * Creates a storage in two temporary SQLite files, of the book and of the accounts. A process that is killed leaves the
 * store of its book open and never uses it again; its lease names a process that has ended.
 */
export async function createSqliteStorage(clock: Clock): Promise<SimulatedStorage> {
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
  const accountStore = sqliteAccountStore({ path: join(folder, 'accounts.sqlite'), synchronous: 'OFF' });
  await accountStore.open({ clock });
  return {
    processes: 1,
    // The thread that writes may end before it has reported a result.
    faults: ['fail', 'full', 'slow', 'lose'],
    opens: true,
    connect,
    accountStore,
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
      await accountStore.close();
      rmSync(folder, { recursive: true });
    },
  };
}

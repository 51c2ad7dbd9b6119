import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type BetterSqlite from 'better-sqlite3';
import type { Clock, Store } from 'intentbook';
import { backupSqlite, sqliteAccountStore, sqliteStore } from 'intentbook/sqlite';
import { CREATE_INVOICES, createHostDatabase } from './host-database.ts';
import type { SimulatedStorage } from './storages.ts';

/** A process id that no process has: it is above the maximum of the kernel. */
const ENDED_PROCESS = 2 ** 22 + 1;

/**
 * Creates a storage in two temporary SQLite files, of the book and of the accounts. A process that is killed leaves the
 * store of its book open and never uses it again; its lease names one that has ended.
 *
 * @param isHosted - Whether the book uses a handle of the application, which ends with the process.
 */
export async function createSqliteStorage(clock: Clock, isHosted: boolean): Promise<SimulatedStorage> {
  const { default: Database } = await import('better-sqlite3');
  const folder = mkdtempSync(join(tmpdir(), 'intentbook-simulation-'));
  let path = join(folder, 'book.sqlite');
  let backups = 0;
  const stores: Store[] = [];
  let handle: BetterSqlite.Database | undefined;

  function openHandle(): BetterSqlite.Database {
    const opened = new Database(path);
    opened.pragma('journal_mode = WAL');
    opened.pragma('synchronous = OFF');
    opened.exec(CREATE_INVOICES);
    handle = opened;
    return opened;
  }

  const connect = () => {
    const store = isHosted
      ? sqliteStore(openHandle(), { synchronous: 'OFF' })
      : sqliteStore({ path, synchronous: 'OFF', writeThread: false });
    stores.push(store);
    return store;
  };
  async function restore(): Promise<void> {
    const to = join(folder, `backup-${++backups}.sqlite`);
    await backupSqlite({ from: path, to });
    path = to;
  }

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
    ...(isHosted ? { host: createHostDatabase(() => handle) } : {}),
    abandon() {
      handle?.close(); // rolls back what is open
      const database = new Database(path);
      database.prepare(`UPDATE ${isHosted ? 'intentbook_' : ''}lease SET pid = ?, token = 'ended'`).run(ENDED_PROCESS);
      database.close();
    },
    ...(isHosted ? {} : { restore }),
    async dispose() {
      for (const store of stores) await store.close().catch(() => {}); // a newer store has the lease
      handle?.close();
      await accountStore.close();
      rmSync(folder, { recursive: true });
    },
  };
}

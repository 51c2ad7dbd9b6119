import type BetterSqlite from 'better-sqlite3';
import type { VirtualProcess } from '../machine/process.ts';

/** The database of an application that has embedded a book. The application opens transactions on it. */
export interface HostDatabase {
  /** Milliseconds after a commit in which listeners receive its events, without another write. */
  readonly noticeTime: number;
  /** Begins a transaction of a process. `undefined` if it has one, or no process runs. */
  begin(process: VirtualProcess): Promise<HostTransaction | undefined>;
}

/** An open transaction of the application. It ends with the process. */
export interface HostTransaction {
  /** The value that a submission receives to join it. */
  readonly handle: unknown;
  exec(sql: string): Promise<void>;
  end(ending: 'COMMIT' | 'ROLLBACK'): Promise<void>;
  /** Returns the committed UIDs in the table of the application, also after the end. */
  listInvoices(): Promise<string[]>;
}

/** SQL for the table of the application. */
export const CREATE_INVOICES = 'CREATE TABLE IF NOT EXISTS invoices (uid TEXT NOT NULL)';

/** Creates the database of a handle. @param getHandle - Returns the handle of the process that runs. */
export function createHostDatabase(getHandle: () => BetterSqlite.Database | undefined): HostDatabase {
  return {
    // The store notices a commit within 20 ms, and the simulated calls of the dispatcher take up to 240. Without the
    // store, the dispatcher reads the log once a second.
    noticeTime: 500,
    async begin() {
      const handle = getHandle();
      if (handle === undefined || !handle.open || handle.inTransaction) return undefined;
      handle.exec('BEGIN IMMEDIATE');
      return {
        handle,
        exec: async (sql) => void handle.exec(sql),
        end: async (ending) => void handle.exec(ending),
        listInvoices: async () => handle.prepare('SELECT uid FROM invoices').pluck().all() as string[], // text
      };
    },
  };
}

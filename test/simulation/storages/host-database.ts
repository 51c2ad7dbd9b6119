import type BetterSqlite from 'better-sqlite3';

/** The database of an application that has embedded a book. The application opens transactions on it. */
export interface HostDatabase {
  /** Begins a transaction. `undefined` if another one is open on the connection, or no process runs. */
  begin(): HostTransaction | undefined;
}

/** An open transaction of the application. It ends with the process. */
export interface HostTransaction {
  /** The value that a submission receives to join it. */
  readonly handle: unknown;
  exec(sql: string): void;
  /** Returns the UIDs in the table of the application. */
  listInvoices(): string[];
}

/** SQL for the table of the application. */
export const CREATE_INVOICES = 'CREATE TABLE IF NOT EXISTS invoices (uid TEXT NOT NULL)';

/** Creates the database of a handle. @param getHandle - Returns the handle of the process that runs. */
export function createHostDatabase(getHandle: () => BetterSqlite.Database | undefined): HostDatabase {
  return {
    begin() {
      const handle = getHandle();
      if (handle === undefined || !handle.open || handle.inTransaction) return undefined;
      handle.exec('BEGIN IMMEDIATE');
      return {
        handle,
        exec: (sql) => void handle.exec(sql),
        listInvoices: () => handle.prepare('SELECT uid FROM invoices').pluck().all() as string[], // text
      };
    },
  };
}

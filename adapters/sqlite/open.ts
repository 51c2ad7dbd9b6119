import type { Clock, Domain } from 'intentbook';
import { connectSqlite, markBookFile, type SqliteConnection, type SqliteSource } from './connection.ts';
import { toStoreError } from './database-driver.ts';
import { assertOwnSchema, migrate } from './migrate.ts';
import { connectReadOnly, createReaderLease } from './read-only.ts';
import type { Migration } from './schema.ts';
import { acquireLease, type Lease, runInTransaction, runWithoutSync, type SqliteSession } from './session.ts';

/** The schema of a store, and the domain that its file records. */
export interface StoreSchema {
  readonly domain: Domain;
  readonly migrations: readonly Migration[];
}

/**
 * Opens the database of a store. Connects and acquires the writer lease before the schema is changed. A file that is
 * opened for reads needs no lease, and writes are rejected.
 *
 * @param assemble - Creates the operations of the store.
 * @param onRenewal - Called with the time until which the lease is held, in milliseconds since 1970.
 */
export async function openOperations<Operations extends { close(): void }>(
  source: SqliteSource,
  schema: StoreSchema,
  clock: Clock,
  assemble: (connection: SqliteConnection, lease: Lease, clock: Clock) => Operations,
  onRenewal?: (expires: number) => void,
): Promise<Operations> {
  const { domain, migrations } = schema;
  if (source.kind === 'file' && source.readOnly === true) {
    const connection = await connectReadOnly(source, domain, migrations.length, async () => {
      (await openOperations({ ...source, readOnly: false }, schema, clock, assemble)).close();
    });
    return assemble(connection, createReaderLease(connection), clock);
  }
  const connection = await connectSqlite(source);
  let lease: Lease | undefined;
  try {
    const { database, own } = connection;
    // The first order that is stored waits for the disk, also for these commits.
    const acquired = runWithoutSync(database, () =>
      runInTransaction(database, 'open its tables', () => {
        if (own) markBookFile(database);
        assertOwnSchema(connection, domain, migrations.length);
        return acquireLease(connection, clock, onRenewal);
      }),
    );
    lease = acquired;
    runWithoutSync(database, () => migrate(connection, migrations, acquired.assertHeld));
    const operations = assemble(connection, lease, clock);
    lease.startRenewal();
    return operations;
  } catch (cause) {
    try {
      lease?.release();
    } catch {
      // The lease expires; the first failure is reported.
    }
    connection.disconnect();
    throw toStoreError('open its tables', cause, connection.database.name);
  }
}

/** Creates the operations that concern the whole database. */
export function createDatabaseOperations(connection: SqliteConnection, lease: Lease, session: SqliteSession) {
  return {
    /** Commits an empty write transaction. The lease renewals show that pages can be written. */
    async check(): Promise<void> {
      lease.assertRenewed();
      session.write('be written to', () => {});
    },
    close(): void {
      try {
        lease.release();
      } finally {
        connection.disconnect();
      }
    },
  };
}

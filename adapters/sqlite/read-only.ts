import { type Domain, StoreError } from 'intentbook';
import {
  assertFileExists,
  assertOwnLog,
  connectReader,
  createNoBookError,
  type SqliteConnection,
  type SqliteFile,
} from './connection.ts';
import { toStoreError } from './database-driver.ts';
import { readSchemaVersion } from './migrate.ts';
import type { Lease } from './session.ts';

/**
 * Opens a file for reads, beside the process that writes it.
 *
 * @param newest - The newest schema version that this release supports.
 * @param migrate - Migrates an older schema, which requires the writer lease.
 * @throws StoreError `Unavailable` if the file does not exist or has no tables of the store.
 */
export async function connectReadOnly(
  source: SqliteFile,
  domain: Domain,
  newest: number,
  migrate: () => Promise<void>,
): Promise<SqliteConnection> {
  const { path } = source;
  assertFileExists(path);
  await assertOwnLog(path);
  const connection = await connectReader(source);
  try {
    const version = readSchemaVersion(connection, domain, newest);
    if (version === newest) return connection;
    if (version === undefined) throw createNoBookError(path);
  } catch (cause) {
    connection.disconnect();
    throw toStoreError('open its tables', cause, path);
  }
  connection.disconnect();
  await migrate();
  return connectReader(source);
}

/** Creates the lease of a connection that only reads. */
export function createReaderLease({ database }: SqliteConnection, isExclusive: () => boolean = () => false): Lease {
  return {
    assertHeld() {
      throw new StoreError('Unavailable', `the connection to "${database.name}" is for reads only`);
    },
    assertRenewed() {},
    isExclusive,
    startRenewal() {},
    release() {},
  };
}

import { type Domain, StoreError } from 'intentbook';
import { assertSameDomain } from 'intentbook/store-kit';
import type { SqliteConnection } from './connection.ts';
import { prepareStatement } from './database-driver.ts';
import { bufferToHex, toBytes } from './rows.ts';
import { FOUNDATION, type Migration } from './schema.ts';
import { runInTransaction } from './session.ts';

/**
 * Creates the base tables in an empty database, or checks the existing ones. Must run within a transaction.
 *
 * @param newest - The newest schema version that this release supports.
 * @throws StoreError `SchemaTooNew` with both versions, `DomainMismatch` with both domains or kinds of store.
 */
export function assertOwnSchema(connection: SqliteConnection, domain: Domain, newest: number): void {
  if (readSchemaVersion(connection, domain, newest) !== undefined) return;
  const { database, prefix: p } = connection;
  database.exec(FOUNDATION(p));
  prepareStatement(
    database,
    `INSERT INTO ${p}meta (id, schema_version, chain_id, settlement_contract) VALUES (1, 0, ?, ?)`,
  ).run(domain.chainId, toBytes(domain.settlementContract));
}

/**
 * Returns the schema version of a database, `undefined` if it has no tables of the store.
 *
 * @throws StoreError as {@link assertOwnSchema}.
 */
export function readSchemaVersion(
  { database, prefix: p }: SqliteConnection,
  domain: Domain,
  newest: number,
): number | undefined {
  const table = prepareStatement(database, `SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?`);
  if (table.get(`${p}meta`) === undefined) return undefined;
  const meta = prepareStatement(database, `SELECT schema_version, chain_id, settlement_contract FROM ${p}meta`).raw();
  const [version, chainId, contract] = meta.get() as [number, number, Buffer]; // written with the table
  const recorded = { chainId, settlementContract: bufferToHex(contract) };
  assertSameKind(recorded, domain);
  if (version > newest) {
    throw new StoreError(
      'SchemaTooNew',
      `this store has schema version ${version}, this release supports up to version ${newest}; use a newer release`,
    );
  }
  assertSameDomain(recorded, domain);
  return version;
}

/** Checks that a store is that of a book or an account store, as wanted. An account store has the chain id 0. */
function assertSameKind(recorded: Domain, wanted: Domain): void {
  if ((recorded.chainId === 0) === (wanted.chainId === 0)) return;
  const kinds = ['the store of a book', 'an account store'];
  const [kind, other] = recorded.chainId === 0 ? kinds.reverse() : kinds;
  throw new StoreError('DomainMismatch', `this is ${kind}, not ${other}`);
}

/**
 * Migrates the schema to the newest version. Each migration runs in its own transaction, so that completed ones are
 * kept after a failure.
 *
 * @param assertHeld - Throws if this process is no longer the writer.
 */
export function migrate(connection: SqliteConnection, migrations: readonly Migration[], assertHeld: () => void): void {
  const { database, prefix: p, own } = connection;
  const recorded = prepareStatement(database, `SELECT schema_version FROM ${p}meta`).pluck();
  const record = prepareStatement(database, `UPDATE ${p}meta SET schema_version = ?`);
  for (const [index, migration] of migrations.entries()) {
    const version = index + 1;
    if ((recorded.get() as number) >= version) continue; // an integer column
    runInTransaction(database, `migrate to schema version ${version}`, () => {
      assertHeld();
      database.exec(migration(p));
      record.run(version);
      // For other tools. The header of a host's file belongs to the host.
      if (own) database.pragma(`user_version = ${version}`);
    });
  }
  runInTransaction(database, 'remove statistics', () => {
    assertHeld();
    removeStatistics(connection);
  });
}

/**
 * Removes the statistics that `ANALYZE` or `PRAGMA optimize` of an application has made of the tables of the store.
 * Those of a small file make SQLite read whole tables, also when the tables have grown. Without statistics, each plan
 * uses its index. An open connection reads new statistics when their table is created, so an own file has the table.
 */
function removeStatistics({ database, prefix, own }: SqliteConnection): void {
  const tables = prepareStatement(database, `SELECT name FROM sqlite_schema WHERE name GLOB 'sqlite_stat[14]'`).pluck();
  const names = tables.all() as string[]; // a text column
  const removed = names.map((name) => {
    const isOwn = `substr(tbl, 1, ${prefix.length}) = '${prefix}'`;
    return prepareStatement(database, `DELETE FROM ${name} WHERE ${isOwn}`).run().changes;
  });
  // Creates the table, and reads the statistics again.
  if ((own && removed.length === 0) || removed.some((rows) => rows > 0)) database.exec('ANALYZE sqlite_schema');
}

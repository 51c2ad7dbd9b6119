import type { Domain } from 'intentbook';
import { StoreError } from 'intentbook';
import { assertSameDomain } from 'intentbook/store-kit';
import type { SqliteConnection } from './connection.ts';
import { toBytes, toHex } from './rows.ts';
import type { Migration } from './schema.ts';
import { FOUNDATION } from './schema.ts';
import { prepare, transact } from './session.ts';

/**
 * Within a transaction: makes the foundation in an empty storage, or judges the one that is there.
 *
 * @param newest the newest version that is known.
 * @throws StoreError `SchemaTooNew` naming both versions, `DomainMismatch` naming both domains.
 */
export function assertOurs({ database, prefix: p }: SqliteConnection, domain: Domain, newest: number): void {
  const table = prepare(database, `SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?`);
  if (table.get(`${p}meta`) === undefined) {
    database.exec(FOUNDATION(p));
    prepare(
      database,
      `INSERT INTO ${p}meta (id, schema_version, chain_id, settlement_contract) VALUES (1, 0, ?, ?)`,
    ).run(domain.chainId, toBytes(domain.settlementContract));
    return;
  }
  const meta = prepare(database, `SELECT schema_version, chain_id, settlement_contract FROM ${p}meta`).raw();
  const [version, chainId, contract] = meta.get() as [number, number, Buffer]; // written with the table
  if (version > newest) {
    throw new StoreError(
      'SchemaTooNew',
      `this store has schema version ${version}, this release knows up to version ${newest}; use a newer release`,
    );
  }
  assertSameDomain({ chainId, settlementContract: toHex(contract) }, domain);
}

/**
 * Brings the schema up to date, each version in a transaction of its own, so that what has been reached is kept.
 *
 * @param assertHeld throws when this process is not the writer any more.
 */
export function migrate(connection: SqliteConnection, migrations: readonly Migration[], assertHeld: () => void): void {
  const { database, prefix: p, own } = connection;
  const recorded = prepare(database, `SELECT schema_version FROM ${p}meta`).pluck();
  const record = prepare(database, `UPDATE ${p}meta SET schema_version = ?`);
  for (const [index, migration] of migrations.entries()) {
    const version = index + 1;
    if ((recorded.get() as number) >= version) continue; // an integer column
    transact(database, `migrate to schema version ${version}`, () => {
      assertHeld();
      database.exec(migration(p));
      record.run(version);
      // For people who look at the file with other tools; the header of a host's file is the host's.
      if (own) database.pragma(`user_version = ${version}`);
    });
  }
}

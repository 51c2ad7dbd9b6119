import type { Sql, TemporarySchema } from '../../support/postgres.ts';

const TABLES = [
  'deliveries',
  'log',
  'notifications',
  'subscriptions',
  'nonces',
  'invitations',
  'affiliates',
  'used_signatures',
  'progress_markers',
  'feeds',
  'leases',
];

/** Deletes all rows of an account store. */
export async function emptyAccountSchema({
  schema,
  pool,
}: Pick<TemporarySchema, 'schema'> & { readonly pool: Sql }): Promise<void> {
  const { rows } = await pool.query(`SELECT tablename FROM pg_tables WHERE schemaname = '${schema}'`);
  const names = rows.map(({ tablename }) => tablename).sort();
  const expected = [...TABLES, 'locks', 'migrations', 'domain'].sort();
  if (names.join() !== expected.join()) throw new Error(`a table is not known here: ${names}`);
  const deletions = TABLES.map((table) => `DELETE FROM "${schema}".${table}`);
  await pool.query([...deletions, `UPDATE "${schema}".locks SET last = 0, origin = NULL`].join('; '));
}

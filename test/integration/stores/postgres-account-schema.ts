import type { TemporarySchema } from '../../support/postgres.ts';

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
export async function emptyAccountSchema({ schema, queryKept }: TemporarySchema): Promise<void> {
  const found = await queryKept(`SELECT tablename FROM pg_tables WHERE schemaname = '${schema}'`);
  const names = found.map(({ tablename }) => tablename).sort();
  const expected = [...TABLES, 'locks', 'migrations', 'domain'].sort();
  if (names.join() !== expected.join()) throw new Error(`a table is not known here: ${names}`);
  const deletions = TABLES.map((table) => `DELETE FROM "${schema}".${table}`);
  await queryKept([...deletions, `UPDATE "${schema}".locks SET last = 0`].join('; '));
}

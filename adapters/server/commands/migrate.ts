import { systemClock } from 'intentbook';
import type { MigrateOptions } from '../cli/parse.ts';
import { accountStoreAt, isDatabase } from '../open-accounts.ts';

/** Migrates the given schemas. @returns one line per schema. */
export async function migrateAll({ postgres, schema, accounts }: MigrateOptions): Promise<string[]> {
  const lines: string[] = [];
  if (postgres !== undefined) lines.push(await migrateSchema(postgres, schema));
  if (accounts === undefined) return lines;
  if (isDatabase(accounts)) return [...lines, await migrateSchema(accounts)];
  // A store in a file migrates when it is opened.
  const store = await accountStoreAt(accounts, { migrate: true });
  await store.open({ clock: systemClock });
  await store.close();
  return [...lines, `the accounts in ${accounts} are up to date`];
}

/** Migrates one schema. @param schema - Schema of a book. Absent: the schema of accounts. */
async function migrateSchema(url: string, schema?: string): Promise<string> {
  const { migratePostgres } = await import('intentbook/postgres');
  const applied = await migratePostgres(schema === undefined ? { url, of: 'accounts' } : { url, schema });
  const name = schema === undefined ? 'the schema of accounts' : `the schema ${schema}`;
  return applied.length === 0 ? `${name} was up to date` : `${name} was brought to version ${applied.at(-1)}`;
}

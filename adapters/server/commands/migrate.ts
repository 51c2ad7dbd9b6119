import { systemClock } from 'intentbook';
import type { MigrateOptions } from '../cli/parse.ts';
import { accountStoreAt, isDatabase } from '../open-accounts.ts';

/** Brings the schemas that are named up to date. @returns what was done, a line for each. */
export async function migrateAll({ postgres, schema, accounts }: MigrateOptions): Promise<string[]> {
  const lines: string[] = [];
  if (postgres !== undefined) lines.push(await migrateSchema(postgres, schema));
  if (accounts === undefined) return lines;
  if (isDatabase(accounts)) return [...lines, await migrateSchema(accounts)];
  // A store in a file does it when it is opened.
  const store = await accountStoreAt(accounts, { migrate: true });
  await store.open({ clock: systemClock });
  await store.close();
  return [...lines, `the accounts in ${accounts} are up to date`];
}

/** @param schema that of a book; absent: that of accounts. */
async function migrateSchema(url: string, schema?: string): Promise<string> {
  const { migratePostgres } = await import('intentbook/postgres');
  const applied = await migratePostgres(schema === undefined ? { url, of: 'accounts' } : { url, schema });
  const name = schema === undefined ? 'the schema of accounts' : `the schema ${schema}`;
  return applied.length === 0 ? `${name} was up to date` : `${name} was brought to version ${applied.at(-1)}`;
}

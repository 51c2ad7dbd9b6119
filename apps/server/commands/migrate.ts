import { systemClock } from 'intentbook';
import { accountStoreAt, isDatabase } from '../books/open-accounts.ts';

/** The schemas to migrate: of a book, of the account interface, or both. */
export interface MigrateOptions {
  readonly postgres?: string;
  readonly schema: string;
  /** Location of the account store. */
  readonly accounts?: string;
}

/** Migrates the given schemas. @returns one line per schema. */
export async function migrateAll({ postgres, schema, accounts }: MigrateOptions): Promise<string[]> {
  const lines: string[] = [];
  if (postgres !== undefined) lines.push(await migrateBook(postgres, schema));
  if (accounts === undefined) return lines;
  if (isDatabase(accounts)) return [...lines, await migrateAccounts(accounts)];
  // A store in a file migrates when it is opened.
  const store = await accountStoreAt(accounts, { migrate: true });
  await store.open({ clock: systemClock });
  await store.close();
  return [...lines, `the accounts in ${accounts} are up to date`];
}

async function migrateBook(url: string, schema: string): Promise<string> {
  const { migratePostgres } = await import('intentbook/postgres');
  const applied = await migratePostgres({ url, schema });
  return describeResult(`the schema ${schema}`, applied);
}

async function migrateAccounts(url: string): Promise<string> {
  const { migratePostgres } = await import('intentbook/postgres');
  return describeResult('the schema of accounts', await migratePostgres({ url, of: 'accounts' }));
}

const describeResult = (name: string, applied: readonly number[]) =>
  applied.length === 0 ? `${name} was up to date` : `${name} was brought to version ${applied.at(-1)}`;

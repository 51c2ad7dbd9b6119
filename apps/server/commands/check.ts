import { access, constants, open } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { dirname, resolve } from 'node:path';
import { describePackageFailure, formatError } from '#internal';
import { payoutFile } from '../books/affiliate-payouts.ts';
import { createDenyList } from '../books/deny-list.ts';
import { readFees } from '../books/fee-policies.ts';
import { createChannels, defaultLocation, isAccountFile, isDatabase } from '../books/open-accounts.ts';
import { getStoreName } from '../books/open-books.ts';
import { quoteOptions } from '../books/quote-options.ts';
import { upstreamOptions } from '../books/upstream-options.ts';
import type { BookPlan, ServerPlan } from '../config/plan.ts';
import { MissingPackageError } from '../require-package.ts';
import { BOOK_SETTINGS, COMMON_SETTINGS } from '../settings/book-settings.ts';
import { SERVER_SETTINGS } from '../settings/server-settings.ts';
import type { SettingTable } from '../settings/setting.ts';

export interface CheckedSettings {
  readonly books: readonly CheckedBook[];
  /** One line each. Empty if no check has found a reason for which the server cannot start. */
  readonly problems: readonly string[];
  /** Parts that were not checked, because they need a connection: a noun phrase with the command that checks it. */
  readonly notChecked: readonly string[];
}

/** A book that would be served. */
export interface CheckedBook extends Pick<BookPlan, 'path' | 'chain' | 'chainId' | 'environment'> {
  /** The file, or the address of the database without secrets. */
  readonly database: string;
}

/**
 * Checks the packages and files that settings refer to. Sends no request.
 *
 * @param folder - Base of relative file names. Default: the current directory.
 * @param connect - Whether to connect to PostgreSQL and to compare the schemas, without changes. Default: false.
 */
export async function checkSettings(plan: ServerPlan, folder = '.', connect = false): Promise<CheckedSettings> {
  const problems = await Promise.all([
    ...plan.books.map(fileProblems),
    databaseProblems(plan, folder),
    ...(connect ? [schemaProblems(plan)] : []),
  ]);
  return {
    books: plan.books.map((book) => {
      const { path, chain, chainId, environment } = book;
      return { path, chain, chainId, environment, database: getStoreName(book.place) ?? 'in memory' };
    }),
    problems: [...(await packageProblems(plan)), ...(await serverProblems(plan, folder)), ...problems.flat()],
    notChecked: findUnchecked(plan, connect),
  };
}

function findUnchecked({ books, settings: { accounts = '' } }: ServerPlan, connect: boolean): string[] {
  const hasPostgres = isDatabase(accounts) || books.some(({ place }) => place.kind === 'postgres');
  return [
    ...(hasPostgres && !connect ? ['PostgreSQL and its schemas (add --connect)'] : []),
    ...(books.some(({ settings }) => settings.rpc !== undefined) ? ['the nodes (run "intentbook doctor")'] : []),
  ];
}

/** Checks the database files of the books and of the account store, without a database driver. */
async function databaseProblems(plan: ServerPlan, folder: string): Promise<string[]> {
  const accounts = plan.settings.accounts ?? defaultLocation(plan);
  const files = [
    ...plan.books.flatMap(({ path, place }) => (place.kind === 'file' ? [{ of: path, file: place.path }] : [])),
    ...(isAccountFile(accounts) ? [{ of: 'accounts', file: resolve(folder, accounts) }] : []),
  ];
  const problems = await Promise.all(
    files.map(async ({ of, file }) => {
      const problem = await findFileProblem(file);
      return problem === undefined ? [] : [`${of}: ${problem}`];
    }),
  );
  return [...new Set(problems.flat())];
}

/** The bytes at the start of each SQLite file that is not empty. */
const SQLITE_HEADER = Buffer.from('SQLite format 3\0');

/** Returns why a file cannot be opened as a database. The server creates a file that does not exist. */
async function findFileProblem(path: string): Promise<string | undefined> {
  try {
    const file = await open(path, 'r+');
    try {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(SQLITE_HEADER.length), 0, SQLITE_HEADER.length, 0);
      const isDatabaseFile = bytesRead === 0 || buffer.equals(SQLITE_HEADER);
      return isDatabaseFile ? undefined : `the file "${path}" is not an SQLite database`;
    } finally {
      await file.close();
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT') return findFolderProblem(dirname(path));
    if (code === 'EISDIR') return `the database "${path}" is a folder`;
    return `the file "${path}" cannot be opened (${String(code)})`;
  }
}

/** Returns why no file can be created in a folder. */
async function findFolderProblem(path: string): Promise<string | undefined> {
  try {
    await access(path, constants.W_OK);
    return undefined;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT') return `the folder "${path}" does not exist`;
    return `the folder "${path}" cannot be written to (${String(code)})`;
  }
}

/** Compares the schemas of the books and of the accounts with those that this release needs. */
async function schemaProblems({ books, settings: { accounts } }: ServerPlan): Promise<string[]> {
  const { checkPostgres } = await import('intentbook/postgres');
  const checks = books.map(({ path, place }) => {
    return place.kind !== 'postgres'
      ? []
      : checkPostgres({ url: place.url, schema: place.schema }).then((lines) =>
          lines.map((line) => `${path}: ${line}`),
        );
  });
  const place = accounts ?? '';
  const ofAccounts = isDatabase(place) ? await checkPostgres({ url: place, of: 'accounts' }) : [];
  return [...(await Promise.all(checks)).flat(), ...ofAccounts.map((line) => `accounts: ${line}`)];
}

/** Checks the file of payouts and the options of the notification channels. */
function serverProblems(plan: ServerPlan, folder: string): Promise<string[]> {
  const { affiliatePayouts: file } = plan.settings;
  return listFailures([() => file !== undefined && payoutFile(resolve(folder, file)), () => createChannels(plan)]);
}

async function fileProblems({ settings, chain, path }: BookPlan): Promise<string[]> {
  const problems = await listFailures([
    () => createDenyList(settings.deniedAddresses).close(),
    () => createDenyList(settings.deniedTokens).close(),
    () => readFees(settings),
    () => upstreamOptions(settings),
    // The simulation of quotes requires a package.
    () => quoteOptions({ ...settings, chain, verifyQuotes: false }),
  ]);
  return problems.map((problem) => `${path}: ${problem}`);
}

/** Returns the messages of the functions that fail. Packages are checked separately. */
async function listFailures(checks: readonly (() => unknown)[]): Promise<string[]> {
  const failures: string[] = [];
  for (const check of checks) {
    try {
      await check();
    } catch (error) {
      if (!(error instanceof MissingPackageError)) failures.push(formatError(error));
    }
  }
  return failures;
}

const TABLE: SettingTable = { ...SERVER_SETTINGS, ...BOOK_SETTINGS, ...COMMON_SETTINGS };

async function packageProblems(plan: ServerPlan): Promise<string[]> {
  const { settings, books } = plan;
  const needed = new Map<string, string>();
  for (const values of [settings, ...books.map((book) => book.settings)]) {
    for (const [key, value] of Object.entries(values)) {
      if (value === undefined) continue;
      for (const name of TABLE[key]?.packages ?? []) needed.set(name, key);
    }
  }
  if (settings.log === 'json') needed.set('pino', 'log');
  for (const { place, settings: book } of books) {
    if (place.kind === 'file' && !isBuiltin('node:sqlite')) needed.set('better-sqlite3', 'db');
    if (place.kind === 'postgres') needed.set('pg', 'postgres');
    if (book.rpc !== undefined) needed.set('viem', 'rpc');
  }
  const accounts = settings.accounts ?? defaultLocation(plan);
  if (isAccountFile(accounts) && !isBuiltin('node:sqlite')) needed.set('better-sqlite3', 'accounts');
  if (isDatabase(accounts)) needed.set('pg', 'accounts');
  const problems = await Promise.all([...needed].map(([name, key]) => packageProblem(name, key)));
  return problems.flat();
}

/** Loads a package, because one that is installed may not load. @throws what the package throws. */
export async function loadPackage(name: string): Promise<void> {
  const loaded = (await import(name)) as { readonly default: unknown }; // the packages have a default export
  // Its native part is loaded with the first database.
  if (name === 'better-sqlite3') new (loaded.default as new (path: string) => unknown)(':memory:');
}

async function packageProblem(name: string, key: string): Promise<string[]> {
  try {
    await loadPackage(name);
    return [];
  } catch (cause) {
    return [describePackageFailure(`"${key}"`, name, cause)];
  }
}

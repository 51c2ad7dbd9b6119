import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { defaultLocation, isAccountFile } from '../books/open-accounts.ts';
import { readConfigFile } from '../config/load.ts';
import { planServer } from '../config/plan.ts';
import type { Progress } from './progress.ts';

export interface Copied {
  readonly from: string;
  readonly to: string;
  readonly pages: number;
}

export async function backUpFile(from: string, to: string, progress: Progress): Promise<Copied> {
  const { backupSqlite } = await import('intentbook/sqlite');
  let pages = 0;
  await backupSqlite({
    from,
    to,
    onProgress(copied, total) {
      pages = total;
      progress.at(copied, total);
    },
  });
  return { from, to, pages };
}

/**
 * Copies the files of all books of a configuration, and that of the account store, to a folder. The names of the files
 * stay the same. Databases in PostgreSQL are left out.
 *
 * @param accountStore - The account store. Default: that of the configuration.
 * @throws Error before the first copy if two files have the same name.
 */
export async function backUpAll(
  config: string,
  folder: string,
  progress: Progress,
  accountStore?: string,
): Promise<readonly Copied[]> {
  // Only what names files: other settings may have their secrets in the variables of the server.
  const { folder: base = '.', ...settings } = await readConfigFile(config);
  const plan = planServer(pick(settings, ['books', 'defaults', 'accounts']), base);
  const accounts = accountStore ?? plan.settings.accounts ?? defaultLocation(plan);
  const books = plan.books.flatMap(({ place }) => (place.kind === 'file' ? [place.path] : []));
  // The account store reads the logs of the books. A copy that is newer than theirs would have read lost entries.
  const unique = [
    ...new Set(
      isAccountFile(accounts)
        ? [resolve(accountStore === undefined ? dirname(config) : '', accounts), ...books]
        : books,
    ),
  ];
  const missing = unique.find((file) => !existsSync(file));
  if (missing !== undefined) throw new Error(`the file "${missing}" does not exist`);
  const names = unique.map((file) => basename(file));
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined) throw new Error(`two files have the name "${twice}"; copy them with --db <file>`);
  if (unique.length === 0) throw new Error(`${config} has no database in a file`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const copies: Copied[] = [];
  for (const file of unique) copies.push(await backUpFile(file, join(folder, basename(file)), progress));
  return copies;
}

function pick(value: object, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(value).filter(([name]) => names.includes(name)));
}

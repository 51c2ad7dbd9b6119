import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { AccountStore, Address, Domain, Store } from 'intentbook';
import { systemClock } from 'intentbook';
import { chainById, defined, deployment } from '#internal';
import { createChainOptions } from '../books/chain-options.ts';
import { accountStoreAt, defaultLocation, isDatabase } from '../books/open-accounts.ts';
import { withStore } from '../books/open-books.ts';
import { type BookPlan, planServer, type ServerPlan } from '../config/plan.ts';
import type { BookSettings } from '../settings/schema.ts';
import { backUpAll, backUpFile } from './backup.ts';
import { compareBook } from './compare.ts';
import { exportBook } from './export.ts';
import { importBook } from './import.ts';
import { STANDARD_OUTPUT } from './output.ts';
import { type Progress, progressBar } from './progress.ts';
import type { PruneAges, Pruned, PrunedAccounts, PrunePreview } from './prune.ts';
import { countPrunable, pruneAccounts, pruneBook } from './prune.ts';
import { checkBackup, describeLost } from './restore-check.ts';
import { rollBackBook } from './rollback.ts';
import type { ExportedTable, TableName } from './table-export/index.ts';
import { assertNewFile, exportTable } from './table-export/index.ts';
import { verifyBook } from './verify.ts';

export type MaintenanceName =
  | 'export'
  | 'import'
  | 'verify'
  | 'prune'
  | 'rollback'
  | 'forget'
  | 'backup'
  | 'restore'
  | 'begin-epoch';

/** A maintenance command and its book. */
export interface CommandOptions {
  readonly command: MaintenanceName;
  readonly book: BookSettings;
  /** The file of the command, if it has one. */
  readonly file: string;
  /** For `prune`. */
  readonly ages: PruneAges;
  /** For `prune`: whether nothing is deleted. */
  readonly dryRun?: boolean;
  /** For `prune`: returns whether to delete, after the question. Without it, `prune` deletes. */
  readonly confirm?: (question: string) => Promise<boolean>;
  /** For `rollback`: the newest block whose chain events stay. */
  readonly toBlock: number;
  /** For `export` to a table. Without it, orders are exported as NDJSON. */
  readonly table?: TableName | undefined;
  /** For `verify`: the order book to compare with. */
  readonly against?: { readonly url: string; readonly apiKey?: string };
  /** For `export` to a table: the position after which changes are exported. */
  readonly after?: number;
  /** For `forget`. */
  readonly account?: Address;
  /** For `export` of notifications, and commands that use the account store: its location. */
  readonly accounts?: string;
  /** For `backup`: the configuration whose books are copied. */
  readonly config?: string;
  /** Whether the result is printed as JSON. */
  readonly json: boolean;
}

/** The result, as text and as data. */
export interface CommandOutcome {
  readonly ok: boolean;
  readonly words: string;
  readonly data: object;
}

/** Runs a command and shows its progress on `out`. The result in words ends with the duration. */
export async function runCommand(
  options: CommandOptions,
  out: Parameters<typeof progressBar>[1],
): Promise<CommandOutcome> {
  assertFilesExist(options);
  const progress = progressBar(options.command, out);
  try {
    const since = performance.now();
    const outcome = await runWith(options, progress);
    const seconds = (performance.now() - since) / 1000;
    return { ...outcome, words: `${outcome.words}\nfinished in ${seconds.toFixed(1)} s` };
  } finally {
    progress.end();
  }
}

function runWith(options: CommandOptions, progress: Progress): Promise<CommandOutcome> {
  if (options.command === 'backup') return backUp(options, progress);
  if (options.command === 'forget') return forget(options);
  if (options.command === 'restore') return checkRestore(options, progress);
  return options.command === 'begin-epoch' ? beginEpochs(options) : runOnStore(options, progress);
}

async function forget(options: CommandOptions): Promise<CommandOutcome> {
  const { account } = options;
  if (account === undefined) throw new Error('an account is missing: --account <address>');
  const place = findAccountStore(planCommand(options), options, 'forget requires');
  const data = await withAccountStore(place, (store) => store.forget(account));
  const affiliate = {
    none: 'it had no affiliate code',
    deleted: 'its affiliate code was deleted',
    kept: 'its affiliate code was kept for payouts',
  }[data.affiliate];
  const deleted = [formatCount(data.subscriptions, 'subscription'), formatCount(data.notifications, 'notification')];
  const words = `${deleted.join(' and ')} of ${account} were deleted; ${affiliate}`;
  return { ok: true, words, data: { account, ...data } };
}

/** Returns whether the location of an account store is a file or a database. */
const hasAccountStore = (place: string | undefined): place is string =>
  place !== undefined && place !== 'off' && place !== ':memory:';

async function beginEpochs({ book, accounts }: CommandOptions): Promise<CommandOutcome> {
  const logs = [await beginEpoch(book.postgres ?? resolve(book.db ?? ''), { schema: book.schema })];
  if (hasAccountStore(accounts)) logs.push(await beginEpoch(accounts, { of: 'accounts' }));
  return { ok: true, words: `the next entries of ${logs.join(' and ')} begin a new log epoch`, data: { logs } };
}

/** @returns the name of the log, without a password. */
async function beginEpoch(
  place: string,
  options: { readonly schema?: string | undefined; readonly of?: 'accounts' },
): Promise<string> {
  if (!isDatabase(place)) {
    const path = resolve(place);
    await (await import('intentbook/sqlite')).beginSqliteLogEpoch({ path });
    return path;
  }
  await (await import('intentbook/postgres')).beginPostgresLogEpoch({ url: place, ...defined(options) });
  return options.of === undefined ? `the schema ${options.schema ?? 'intentbook'}` : 'the schema of accounts';
}

async function backUp({ book, file, config, accounts }: CommandOptions, progress: Progress): Promise<CommandOutcome> {
  if (config !== undefined) {
    const copies = await backUpAll(config, resolve(file), progress, accounts);
    const words = copies.map(({ from, to }) => `${from} was copied to ${to}`).join('\n');
    return { ok: true, words, data: { copies } };
  }
  const copy = await backUpFile(resolve(book.db ?? ''), resolve(file), progress);
  return { ok: true, words: `${copy.from} was copied to ${copy.to}`, data: copy };
}

async function checkRestore(options: CommandOptions, progress: Progress): Promise<CommandOutcome> {
  const [plan] = planCommand(options).books;
  if (plan === undefined) throw new Error('the plan has no book');
  const file = resolve(options.file);
  const data = await checkBackup(file, plan.place, getDomain(plan), progress);
  const sum = `${file} has ${formatCount(data.orders, 'order')}, ${formatCount(data.problems.length, 'problem')}`;
  const problems = data.problems.map(({ uid, reason }) => `\n  ${uid}: ${reason}`).join('');
  return { ok: data.problems.length === 0, words: `${sum}${problems}\n${describeLost(data)}`, data: { file, ...data } };
}

/** @throws Error of the system if a file cannot be reached. */
const isMissing = (path: string) => statSync(path, { throwIfNoEntry: false }) === undefined;

/** @throws Error if a file that the command reads does not exist. Only `import` creates a database. */
function assertFilesExist({ command, file, book, table, config }: CommandOptions): void {
  // The account store is checked when it is opened.
  if (config !== undefined || command === 'forget' || (command === 'export' && table === 'notifications')) return;
  const readsFile = command === 'import' || command === 'restore';
  if (readsFile && isMissing(file)) throw new Error(`the file "${resolve(file)}" does not exist`);
  if (readsFile || book.postgres !== undefined) return;
  if (book.db === ':memory:') throw new Error(`${command} requires a database that is stored: --db <file>`);
  assertHasDatabase(resolve(book.db ?? ''), '; select one with --db <file>');
}

/** @throws Error if a file does not exist or is empty. The store would create its tables in it. */
function assertHasDatabase(path: string, hint = ''): void {
  const file = statSync(path, { throwIfNoEntry: false });
  if (file === undefined) throw new Error(`the database "${path}" does not exist${hint}`);
  if (file.size === 0) throw new Error(`the file "${path}" is empty, not a database${hint}`);
}

async function runOnStore(options: CommandOptions, progress: Progress): Promise<CommandOutcome> {
  const server = planCommand(options);
  const [plan] = server.books;
  if (plan === undefined) throw new Error('the plan has no book');
  if (options.table !== undefined) {
    assertNewFile(getOutput(options));
    if (options.table === 'notifications') return exportNotifications(server, options, progress);
  }
  // A server may have the file open.
  const readOnly = options.command === 'export' || options.command === 'verify' || options.dryRun === true;
  const domain = getDomain(plan);
  return withStore(plan.place, readOnly, domain, (store) => doWith(store, domain, options, progress));
}

async function doWith(
  store: Store,
  domain: Domain,
  options: CommandOptions,
  progress: Progress,
): Promise<CommandOutcome> {
  const file = resolve(options.file);
  switch (options.command) {
    case 'export': {
      if (options.table !== undefined) return exportBookTable(store, options, progress);
      const output = getOutput(options);
      const data = await exportBook(store, domain, output, progress);
      const words = `${formatCount(data.orders, 'order')} ${data.orders === 1 ? 'is' : 'are'} in ${describeOutput(output)}, ${data.resumed} of them from before, digest ${data.sha256}`;
      return { ok: true, words, data: { file: output, ...data } };
    }
    case 'import': {
      const data = await importBook(store, domain, file, progress);
      const words = `${formatCount(data.orders, 'order')} of ${file} ${data.orders === 1 ? 'is' : 'are'} here, ${data.inserted} of them new, digest ${data.sha256}`;
      return { ok: true, words, data: { file, ...data } };
    }
    case 'verify': {
      if (options.against !== undefined) return compare(store, domain, options.against, progress);
      const data = await verifyBook(store, domain, progress);
      const [orders, signatures] = [formatCount(data.orders, 'order'), formatCount(data.signatures, 'signature')];
      const sum = `${orders}, ${signatures} recovered, ${data.onChain} verified only on chain`;
      const problems = data.problems.map(({ uid, reason }) => `\n  ${uid}: ${reason}`).join('');
      const words = `${sum}, ${formatCount(data.problems.length, 'problem')}${problems}`;
      return { ok: data.problems.length === 0, words, data };
    }
    case 'prune': {
      const now = systemClock.now();
      if (options.dryRun === true || options.confirm !== undefined) {
        const preview = await countPrunable(store, options.ages.orders, now);
        const words = describePreview(preview);
        if (options.dryRun === true) return { ok: true, words, data: { dryRun: true, ...preview } };
        if ((await options.confirm?.(`${words}. Delete them?`)) === false) {
          return { ok: false, words: 'nothing was deleted', data: preview };
        }
      }
      const pruned = await pruneBook(store, options.ages, now, progress);
      const data = { ...pruned, ...(await pruneAccountStore(options)) };
      return { ok: true, words: describePruned(data), data };
    }
    case 'rollback': {
      const { indexer } = await createChainOptions({ rpc: options.book.rpc });
      const data = await rollBackBook(store, domain, options.toBlock, indexer?.sources ?? [], systemClock.now());
      const { number, hash } = data.block;
      const words = `${formatCount(data.removed, 'chain event')} ${data.removed === 1 ? 'was' : 'were'} removed; the index continues after block ${number}, ${hash}`;
      return { ok: true, words, data };
    }
    case 'backup':
    case 'restore':
    case 'forget':
    case 'begin-epoch':
      throw new Error(`${options.command} does not open a store`);
  }
}

async function compare(
  store: Store,
  domain: Domain,
  against: NonNullable<CommandOptions['against']>,
  progress: Progress,
): Promise<CommandOutcome> {
  const { orderBookUpstream } = await import('intentbook/upstream');
  const upstream = orderBookUpstream(against);
  upstream.open({ ...domain, clock: systemClock, onCall() {} });
  try {
    const data = await compareBook(store, upstream, progress);
    const { compared, missing, differences } = data;
    const lines = [
      ...missing.map((uid) => `\n  ${uid}: it is not at ${upstream.name}`),
      ...differences.map(
        ({ uid, field, local, upstream: other }) => `\n  ${uid}: ${field}: ${local} here, ${other} there`,
      ),
    ];
    const words = `${formatCount(compared, 'order')} compared, ${formatCount(lines.length, 'difference')}${lines.join('')}`;
    return { ok: lines.length === 0, words, data };
  } finally {
    upstream.close();
  }
}

/** Deletes old data of the account store, if one is given. */
async function pruneAccountStore({ accounts, ages }: CommandOptions): Promise<PrunedAccounts | undefined> {
  if (!hasAccountStore(accounts)) return undefined;
  return withAccountStore(accounts, (store) => pruneAccounts(store, ages, systemClock.now()));
}

function describePruned({ orders, quotes, before, ...data }: Pruned & Partial<PrunedAccounts>): string {
  const { events, chainEvents, documents, notifications } = data;
  const others = { event: events, 'chain event': chainEvents, document: documents, notification: notifications };
  const parts = Object.entries(others).flatMap(([kind, n]) => (n === undefined ? [] : [`, ${formatCount(n, kind)}`]));
  return `${formatCount(orders, 'order')} and ${formatCount(quotes, 'quote')} were removed, all over before ${before}${parts.join('')}`;
}

/** Formats a number of things, in the singular for one. */
const formatCount = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`;

function describePreview({ orders, before }: PrunePreview): string {
  const subject = orders === undefined ? 'an unknown number of orders' : formatCount(orders, 'order');
  return `${subject} would be removed, all over before ${before}`;
}

/** Opens an account store that exists, and closes it. */
async function withAccountStore<T>(
  place: string,
  work: (store: AccountStore) => Promise<T>,
  readOnly = false,
): Promise<T> {
  if (!isDatabase(place)) assertHasDatabase(resolve(place));
  const store = await accountStoreAt(place, { migrate: false, readOnly });
  await store.open({ clock: systemClock });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

async function exportBookTable(store: Store, options: CommandOptions, progress: Progress): Promise<CommandOutcome> {
  const { table, after } = options;
  const { exportOrders } = await import('./table-export/order-table.ts');
  const { exportTrades } = await import('./table-export/trade-table.ts');
  const rows = await (table === 'trades' ? exportTrades(store, after) : exportOrders(store, after));
  return describeTable(options, await exportTable(table ?? 'orders', rows, getOutput(options), progress));
}

async function exportNotifications(
  server: ServerPlan,
  options: CommandOptions,
  progress: Progress,
): Promise<CommandOutcome> {
  const place = findAccountStore(server, options, 'notifications require');
  const { exportNotifications } = await import('./table-export/notification-table.ts');
  const work = async (store: AccountStore) => {
    const table = await exportNotifications(store, options.after);
    return describeTable(options, await exportTable('notifications', table, getOutput(options), progress));
  };
  return withAccountStore(place, work, true);
}

const planCommand = ({ book }: CommandOptions) => planServer({ books: [{ path: '/', ...defined(book) }] }, '.');

/** @throws Error if no account store is stored. */
function findAccountStore(server: ServerPlan, { accounts }: CommandOptions, subject: string): string {
  const place = accounts ?? defaultLocation(server);
  if (place !== 'off' && place !== ':memory:') return place;
  throw new Error(`${subject} an account store: --accounts <location>`);
}

/** Returns the absolute name of the file of an export, or `-`. */
const getOutput = ({ file }: CommandOptions) => (file === STANDARD_OUTPUT ? file : resolve(file));

const describeOutput = (file: string) => (file === STANDARD_OUTPUT ? 'the standard output' : file);

function describeTable(options: CommandOptions, data: ExportedTable): CommandOutcome {
  const file = getOutput(options);
  const words = `${formatCount(data.rows, 'row')} of ${data.table} ${data.rows === 1 ? 'is' : 'are'} in ${describeOutput(file)}; export later changes with --after ${data.cursor}`;
  return { ok: true, words, data: { file, ...data } };
}

function getDomain({ settings, environment, chainId }: BookPlan): Domain {
  const known = deployment(environment, chainById(chainId)).settlement;
  // Validated by the settings.
  const settlementContract = (settings.settlementContract ?? known).toLowerCase() as Domain['settlementContract'];
  return { chainId, settlementContract };
}

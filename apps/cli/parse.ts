import type { Address } from 'intentbook';
import { formatUnknownName } from '#internal';
import type { CommandOptions, MaintenanceName } from '../server/commands/index.ts';
import type { MigrateOptions } from '../server/commands/migrate.ts';
import { STANDARD_OUTPUT } from '../server/commands/output.ts';
import type { PruneAges } from '../server/commands/prune.ts';
import { isTableFile, TABLE_NAMES } from '../server/commands/table-export/index.ts';
import { findUnknownVariables, removeServiceLinks } from '../server/config/environment.ts';
import type { BookOptions, ServeOptions } from '../server/index.ts';
import { KEY_NAME, KEY_NAME_TEXT } from '../server/settings/api-keys.ts';
import { BOOK_SETTINGS } from '../server/settings/book-settings.ts';
import type { Flag } from '../server/settings/flags.ts';
import { findFlag, flagOfPath, PREFIX } from '../server/settings/flags.ts';
import { createSettingReader, type SettingReader } from '../server/settings/read.ts';
import { singleBook } from '../server/settings/single-book.ts';
import { assertNoProblem, UsageError } from '../server/settings/usage-error.ts';
import type { CommandInfo } from './commands.ts';
import { COMMANDS, findCommand, toMaintenanceName } from './commands.ts';
import { SHELLS, type Shell } from './completion.ts';
import { splitArgs } from './split.ts';

export type LogFormat = 'text' | 'json';

/** Whether and how a command writes a line for the audit log. */
interface Audited {
  readonly log: LogFormat | undefined;
}

/** A command with the flags of a server. Options override those of the configuration file. */
export interface ServeCommand {
  readonly name: 'serve' | 'check' | 'doctor';
  readonly config?: string;
  readonly options: ServeOptions;
  readonly warnings: readonly string[];
  /** Whether `check` connects to PostgreSQL. */
  readonly connect: boolean;
  readonly json: boolean;
}

/** A parsed command line. */
export type Command =
  | { readonly name: 'help'; readonly of?: string; readonly all?: true }
  | { readonly name: 'version'; readonly json?: true }
  | ({ readonly name: 'command'; readonly options: CommandOptions; readonly yes: boolean } & Audited)
  | ({ readonly name: 'migrate'; readonly options: MigrateOptions; readonly json: boolean } & Audited)
  | ServeCommand
  | { readonly name: 'completion'; readonly shell: Shell }
  | ({ readonly name: 'keys'; readonly key: string; readonly json: boolean } & Audited)
  | {
      readonly name: 'init';
      readonly file: string;
      readonly chain: string | number;
      /** Whether the chain was given, so that no question is needed. */
      readonly isChosen: boolean;
      readonly json: boolean;
    };

/**
 * Parses a command line. Every flag has an environment variable, such as `INTENTBOOK_MAX_OPEN_ORDERS` for
 * `--max-open-orders`. The flag wins; an empty variable counts as absent.
 *
 * @throws UsageError with all unknown names and malformed values.
 */
export function parseCommand(
  args: readonly string[],
  variables: Readonly<Record<string, string | undefined>>,
): Command {
  if (args.length === 0) return { name: 'help' };
  const { given, words, special, all, problems } = splitArgs(args);
  const [word, argument] = words;
  // An unknown flag has no value, so that its value may be the first word.
  const isRead = special === undefined && findCommand(word) !== undefined && word !== 'help' && word !== 'version';
  if (!isRead) assertNoProblem(problems);
  if (special === 'version') return { name: 'version' };
  if (special === 'help') return getHelp(word, all);
  const command = requireCommand(word);
  if (command.name === 'help') return getHelp(argument === undefined ? undefined : requireCommand(argument).name, all);
  const unexpected = words[1 + (command.argument?.split(' ').length ?? 0)];
  if (unexpected !== undefined && problems.length === 0) {
    throw new UsageError(`unexpected argument "${unexpected}"; flags begin with two dashes`);
  }
  if (command.name === 'version') return { name: 'version', ...(given.has('json') && { json: true as const }) };
  if (argument === STANDARD_OUTPUT && command.name !== 'export') {
    throw new UsageError(`${command.name} cannot use the standard input or output; "./-" is the file of this name`);
  }
  const env = removeServiceLinks(variables);
  const foreign = [...given.keys()].filter((name) => !command.flags.some((flag) => flag.name === name));
  const contract = readContractVariables(given, env);
  const reader = createSettingReader({ given, env: contract.env });
  assertNoProblem([
    ...problems,
    ...findUnknownVariables(env),
    ...foreign.map((name) => `--${name} is not a flag of "intentbook ${command.name}"`),
    ...reader.problems(command.flags),
  ]);
  const json = reader.value('json') === true;
  if (command.name === 'init') {
    const chain = (reader.value('chain') ?? BOOK_SETTINGS.chain.default) as string | number; // parsed
    const isChosen = reader.value('chain') !== undefined;
    return { name: 'init', file: argument ?? 'intentbook.json', chain, isChosen, json };
  }
  if (command.name === 'keys') return { name: 'keys', key: readKeyName(words), json, log: readLog(reader) };
  if (command.name === 'completion') return { name: 'completion', shell: readShell(argument) };
  const maintenance = toMaintenanceName(command.name);
  if (maintenance !== undefined) return toMaintenanceCommand(maintenance, command, argument, given, reader);
  if (command.name === 'migrate') return toMigrateCommand(command, given, reader);
  const name = command.name === 'check' || command.name === 'doctor' ? command.name : 'serve';
  const connect = name === 'check' && reader.value('connect') === true;
  return { name, ...readServeOptions(command, given, reader, contract), connect, json };
}

function getHelp(word: string | undefined, all: boolean): Command {
  const of = findCommand(word);
  if (of === undefined || of.name === 'help') return { name: 'help' };
  return { name: 'help', of: of.name, ...(all && { all }) };
}

function requireCommand(word: string | undefined): CommandInfo {
  if (word === undefined) throw new UsageError('a command is missing: run "intentbook serve", or "intentbook --help"');
  const command = findCommand(word);
  if (command !== undefined) return command;
  const known = COMMANDS.map(({ name }) => name);
  const text = formatUnknownName('command', word, known);
  throw new UsageError(text.endsWith('?') ? text : `${text}; commands: ${known.join(', ')}`);
}

function readShell(text: string | undefined): Shell {
  const shell = SHELLS.find((each) => each === text);
  if (shell !== undefined) return shell;
  throw new UsageError(`<shell> must be one of ${SHELLS.join(', ')}, got ${text === undefined ? 'none' : `"${text}"`}`);
}

function readLog(reader: SettingReader): LogFormat | undefined {
  const log = reader.value('log');
  return log === 'text' || log === 'json' ? log : undefined;
}

function readKeyName([, action, name]: readonly string[]): string {
  if (action !== 'create' || name === undefined) throw new UsageError('use "intentbook keys create <name>"');
  if (!KEY_NAME.test(name)) throw new UsageError(`<name> must be ${KEY_NAME_TEXT}, got "${name}"`);
  return name;
}

function toMaintenanceCommand(
  command: MaintenanceName,
  { argument, flags }: CommandInfo,
  file: string | undefined,
  given: ReadonlyMap<string, string>,
  reader: SettingReader,
): Command {
  if (argument !== undefined && file === undefined) {
    throw new UsageError(`a file is missing: intentbook ${command} ${argument}`);
  }
  assertNoProblem(findIncompatible(flags, given, reader));
  const bookFlags = flags.filter(({ name }) => !name.startsWith('retention-'));
  const book = readBook(bookFlags, reader);
  const toBlock = reader.value('to-block');
  if (command === 'rollback' && toBlock === undefined) {
    throw new UsageError('a block is missing: intentbook rollback --to-block <block>');
  }
  if (command === 'restore' && reader.value('check') !== true) {
    throw new UsageError('restore requires --check; to restore, replace the database by the file');
  }
  const account = reader.value('account');
  if (command === 'forget' && account === undefined) {
    throw new UsageError('an account is missing: intentbook forget --account <address>');
  }
  const [url, key] = [reader.value('against'), reader.value('against-key')];
  const json = reader.value('json') === true;
  const config = command === 'backup' && !given.has('db') ? reader.value('config') : undefined;
  if (command === 'backup' && given.has('db') && given.has('config')) {
    throw new UsageError('--db and --config cannot be combined');
  }
  if (command === 'backup' && config === undefined && given.has('accounts')) {
    throw new UsageError('--accounts requires --config; a file of accounts is copied with --db');
  }
  const options = {
    command,
    book: singleBook(book),
    file: file ?? '',
    ages: readAges(flags, reader),
    ...(reader.value('dry-run') === true ? { dryRun: true } : {}),
    toBlock: Number(toBlock),
    ...readTableOptions(command, file ?? '', given, reader),
    ...(config === undefined ? {} : { config: String(config) }),
    ...(account === undefined ? {} : { account: String(account) as Address }),
    ...(url === undefined
      ? {}
      : { against: { url: String(url), ...(key === undefined ? {} : { apiKey: String(key) }) } }),
    json,
  };
  return { name: 'command', options, yes: reader.value('yes') === true, log: readLog(reader) };
}

/** @throws UsageError if data of orders is not kept as long as these, or if the account store is missing. */
function readAges(flags: readonly Flag[], reader: SettingReader): PruneAges {
  const orders = Number(reader.value('older-than') ?? findFlag('older-than')?.setting.default);
  const read = (name: string) => {
    const value = flags.some((flag) => flag.name === name) ? reader.value(name) : undefined;
    return value === undefined ? undefined : Number(value);
  };
  const ages = Object.entries(AGE_FLAGS).map(([kind, name]) => [kind, read(name)] as const);
  for (const kind of ['chainEvents', 'documents'] as const) {
    const days = read(AGE_FLAGS[kind]);
    if (days === undefined || days >= orders) continue;
    throw new UsageError(`${reader.source(AGE_FLAGS[kind])} must be at least --older-than (${orders}), got ${days}`);
  }
  if (read(AGE_FLAGS.notifications) !== undefined && reader.value('accounts') === undefined) {
    throw new UsageError(`${reader.source(AGE_FLAGS.notifications)} requires --accounts <location>`);
  }
  return { orders, ...Object.fromEntries(ages.filter(([, days]) => days !== undefined)) };
}

/** The flags of the ages of data besides orders. */
const AGE_FLAGS = {
  events: 'retention-events',
  chainEvents: 'retention-chain-events',
  documents: 'retention-documents',
  notifications: 'retention-notifications',
} as const satisfies Record<Exclude<keyof PruneAges, 'orders'>, string>;

/** Commands that use the account store whenever it is given. */
const WITH_ACCOUNTS: readonly MaintenanceName[] = ['backup', 'begin-epoch', 'forget', 'prune'];

/** @throws UsageError if a flag of tables is given for another file. */
function readTableOptions(
  command: MaintenanceName,
  file: string,
  given: ReadonlyMap<string, string>,
  reader: SettingReader,
): Pick<CommandOptions, 'table' | 'after' | 'accounts'> {
  const accounts = reader.value('accounts');
  if (WITH_ACCOUNTS.includes(command) && accounts !== undefined) return { accounts: String(accounts) };
  if (command !== 'export') return {};
  const flag = ['table', 'after', 'accounts'].find((name) => given.has(name));
  if (!isTableFile(file)) {
    if (flag === undefined) return {};
    if (file !== STANDARD_OUTPUT) throw new UsageError(`--${flag} requires a file that ends with .csv or .parquet`);
  }
  const [table, after] = [reader.value('table'), reader.value('after')];
  return {
    table: TABLE_NAMES.find((name) => name === table) ?? 'orders',
    ...(after === undefined ? {} : { after: Number(after) }),
    ...(accounts === undefined ? {} : { accounts: String(accounts) }),
  };
}

function toMigrateCommand({ flags }: CommandInfo, given: ReadonlyMap<string, string>, reader: SettingReader): Command {
  const parsed = reader.values(flags) as { postgres?: string; schema?: string }; // parsed
  const { postgres, schema } = parsed;
  const location = reader.value('accounts');
  const accounts = location === 'off' || location === ':memory:' ? undefined : location;
  if (postgres === undefined && accounts === undefined) {
    throw new UsageError('a database is missing: --postgres <url>, --accounts <location>, or both');
  }
  if (postgres === undefined && given.has('schema')) throw new UsageError('--schema requires --postgres <url>');
  const options = {
    ...(postgres && { postgres }),
    schema: schema ?? singleBook({ postgres: 'postgres:' }).schema ?? '',
    ...(accounts === undefined ? {} : { accounts: String(accounts) }),
  };
  return { name: 'migrate', options, json: reader.value('json') === true, log: readLog(reader) };
}

function readServeOptions(
  { flags }: CommandInfo,
  given: ReadonlyMap<string, string>,
  reader: SettingReader,
  { settings, warnings }: ReturnType<typeof readContractVariables>,
): Pick<ServeCommand, 'config' | 'options' | 'warnings'> {
  const config = reader.value('config');
  const bookFlags = flags.filter(({ scope }) => scope === 'book' || scope === 'common');
  const server = { ...reader.values(flags.filter(({ scope }) => scope === 'server')), ...settings };
  if (config !== undefined) {
    const source = bookFlags.map((flag) => reader.source(flag.name)).find((each) => each !== undefined);
    if (source !== undefined) {
      throw new UsageError(`${source} cannot be combined with --config; set it in the config file`);
    }
    return { config: String(config), options: server, warnings };
  }
  assertNoProblem([...findIncompatible(flags, given, reader), ...findIncomplete(flags, reader)]);
  return { options: { ...server, ...readBook(bookFlags, reader) }, warnings };
}

/** Reads the settings of a book. A database of the command line replaces a file of the environment. */
function readBook(flags: readonly Flag[], reader: SettingReader): BookOptions {
  const { db, ...book } = reader.values(flags.filter(({ scope }) => scope === 'book' || scope === 'common'));
  return book['postgres'] === undefined && db !== undefined ? { ...book, db: String(db) } : book;
}

/** Finds flags that have no effect without another, or exclude another. */
function findIncompatible(flags: readonly Flag[], given: ReadonlyMap<string, string>, reader: SettingReader): string[] {
  const both = given.has('db') && reader.source('postgres') !== undefined;
  const lonely = flags.flatMap(({ name, setting }) => {
    const required = setting.requires === undefined ? undefined : flagOfPath([setting.requires]);
    // A variable may belong to several servers, but a rule that is not checked is an error.
    const source = given.has(name) || setting.notEmpty === true ? reader.source(name) : undefined;
    if (source === undefined || required === undefined || reader.source(required.name) !== undefined) return [];
    if (!flags.includes(required)) return []; // not a flag of this command
    return [`${source} requires --${required.name} ${required.setting.type.value}`];
  });
  return both ? ['--db and --postgres cannot be combined', ...lonely] : lonely;
}

/** Finds settings that others need and that are absent. One problem per absent setting. */
function findIncomplete(flags: readonly Flag[], reader: SettingReader): string[] {
  const missing = new Map<Flag, string>();
  for (const { name, together } of flags) {
    const source = reader.source(name);
    if (source === undefined) continue;
    for (const other of together.map(flagOfPath)) {
      if (other === undefined || missing.has(other) || reader.source(other.name) !== undefined) continue;
      const isOwn = source.startsWith('--') || source.startsWith(PREFIX);
      missing.set(other, `${source} requires ${isOwn ? `--${other.name}` : other.variable}`);
    }
  }
  return [...missing.values()];
}

/**
 * Reads the variables that the contract defines. Every value of `CMS_ENABLED` but `true` disables notifications. A key
 * without a URL has no effect. See docs/internals/decisions.md#d5-2.
 */
function readContractVariables(given: ReadonlyMap<string, string>, env: Readonly<Record<string, string | undefined>>) {
  const { CMS_ENABLED: enabled, CMS_BASE_URL: url, CMS_API_KEY: apiKey, ...others } = env;
  const isEnabled = !enabled || enabled === 'true';
  const isUsed = isEnabled && (url || given.has('cms-url'));
  const warning = `CMS_ENABLED should be true or false, got "${enabled}"; notifications are disabled`;
  return {
    env: isUsed ? env : others,
    settings: isEnabled ? {} : { notifications: 'off' as const },
    warnings: isEnabled || enabled === 'false' ? [] : [warning],
  };
}

import { parseArgs } from 'node:util';
import { formatUnknownName } from '#internal';
import type { CommandName, CommandOptions } from '../commands/index.ts';
import { COMMAND_NAMES, TAKES_FILE } from '../commands/names.ts';
import { rejectUnknownVariables } from '../config/environment.ts';
import type { ServeOptions } from '../index.ts';
import type { Flag, FlagName } from './flags.ts';
import { FLAG_NAMES, FLAGS, getVariableName } from './flags.ts';
import { UsageError } from './usage-error.ts';

/** The schemas to migrate: of a book, of the account interface, or both. */
export interface MigrateOptions {
  readonly postgres?: string;
  readonly schema: string;
  /** Location of the account store. */
  readonly accounts?: string;
}

/** The address that a server listens on. */
export interface BindAddress {
  readonly port: number;
  readonly host: string;
}

/** A parsed command line. */
export type Command =
  | { readonly name: 'help'; readonly of?: CommandName }
  | { readonly name: 'command'; readonly options: CommandOptions }
  | { readonly name: 'version' }
  | { readonly name: 'migrate'; readonly options: MigrateOptions }
  | { readonly name: 'serve'; readonly options: ServeOptions & BindAddress }
  /** Options override the configuration file. */
  | { readonly name: 'serve'; readonly config: string; readonly options: ServeOptions };

/** Flags that select a book. */
const BOOK_FLAGS: readonly FlagName[] = ['chain', 'environment', 'settlement-contract', 'db', 'postgres', 'schema'];

/** The flags of each maintenance command. */
const COMMAND_FLAGS: Readonly<Record<CommandName, readonly FlagName[]>> = {
  export: [...BOOK_FLAGS, 'json'],
  import: [...BOOK_FLAGS, 'json'],
  verify: [...BOOK_FLAGS, 'json'],
  prune: [...BOOK_FLAGS, 'older-than', 'json'],
  backup: ['db', 'json'],
};

const MIGRATE_FLAGS: readonly FlagName[] = ['postgres', 'schema', 'accounts'];
const SERVE_FLAGS = FLAG_NAMES.filter((name) => getScope(name) !== 'command');
const COMMANDS = ['serve', 'migrate', ...COMMAND_NAMES, 'help', 'version'] as const;

/** Returns the value of a flag, from the command line, the environment or its default. */
type Reader = <T>(name: FlagName, flag: Flag<T>) => T;

/**
 * Parses a command line. Every flag has an environment variable, such as `INTENTBOOK_MAX_OPEN_ORDERS` for
 * `--max-open-orders`. The flag wins; an empty variable counts as absent.
 *
 * @throws UsageError with a one-line message.
 */
export function parseCommand(args: readonly string[], env: Readonly<Record<string, string | undefined>>): Command {
  const { given, words, special } = split(args);
  const [word, second, third] = words;
  const maintenance = COMMAND_NAMES.find((name) => name === word);
  if (special !== undefined) {
    return { name: special, ...(special === 'help' && maintenance !== undefined && { of: maintenance }) };
  }
  if (word === undefined) throw new UsageError('a command is missing: run "intentbook serve", or "intentbook --help"');
  const command = COMMANDS.find((name) => name === word);
  if (command === undefined) throw new UsageError(formatUnknownName('command', word, COMMANDS));
  const unexpected = maintenance !== undefined && TAKES_FILE.includes(maintenance) ? third : second;
  if (unexpected !== undefined) {
    throw new UsageError(`unexpected argument "${unexpected}"; flags begin with two dashes`);
  }
  if (command === 'help' || command === 'version') return { name: command };
  rejectUnknownVariables(env);

  const parsed: ParsedArgs = {
    given,
    contract: readContractVariables(env),
    source: (name) => {
      if (given.has(name)) return `--${name}`;
      return env[getVariableName(name)] ? getVariableName(name) : undefined;
    },
    read(name, flag) {
      const source = parsed.source(name);
      if (source === undefined) return flag.initial;
      const text = given.get(name) ?? env[getVariableName(name)] ?? '';
      const value = text === '' ? undefined : flag.parse(text);
      if (value === undefined) {
        throw new UsageError(`${source} must be ${flag.expected}${flag.secret === true ? '' : `, got "${text}"`}`);
      }
      return value;
    },
  };
  assertFlagsOf(command, given);
  if (maintenance !== undefined) return toMaintenanceCommand(maintenance, second, parsed);
  return command === 'migrate' ? toMigrateCommand(parsed) : toServeCommand(parsed);
}

/** The values of the command line and the environment. */
interface ParsedArgs {
  readonly given: ReadonlyMap<string, string>;
  /** Returns the source of a value for messages: the flag or the variable. Undefined for a default. */
  source(name: FlagName): string | undefined;
  readonly read: Reader;
  /** The options of the variables that the contract defines. */
  readonly contract: Pick<ServeOptions, 'notifications' | 'cms'>;
}

/** Reads the variables that the contract defines. @throws UsageError if a content system has no key. */
function readContractVariables(env: Readonly<Record<string, string | undefined>>): ParsedArgs['contract'] {
  const { CMS_ENABLED: enabled, CMS_BASE_URL: url, CMS_API_KEY: apiKey } = env;
  if (enabled === 'false') return { notifications: 'off' };
  if (!url) return {};
  if (!apiKey) throw new UsageError('CMS_BASE_URL requires CMS_API_KEY');
  if (!/^https?:\/\/[^/]/.test(url) || !URL.canParse(url))
    throw new UsageError('CMS_BASE_URL must be an http or https URL');
  return { cms: { url, apiKey } };
}

function assertFlagsOf(command: (typeof COMMANDS)[number], given: ReadonlyMap<string, string>): void {
  const maintenance = COMMAND_NAMES.find((name) => name === command);
  const serveOrMigrate = command === 'migrate' ? MIGRATE_FLAGS : SERVE_FLAGS;
  const flags = maintenance === undefined ? serveOrMigrate : COMMAND_FLAGS[maintenance];
  const foreign = [...given.keys()].find((name) => !flags.some((each) => each === name));
  if (foreign !== undefined) throw new UsageError(`--${foreign} is not a flag of "intentbook ${command}"`);
}

function toMaintenanceCommand(command: CommandName, file: string | undefined, { given, read }: ParsedArgs): Command {
  if (file === undefined && TAKES_FILE.includes(command)) {
    throw new UsageError(`a file is missing: intentbook ${command} <file>`);
  }
  const postgres = read('postgres', FLAGS.postgres);
  if (postgres !== undefined && given.has('db')) throw new UsageError('--db and --postgres cannot be combined');
  if (postgres === undefined && given.has('schema')) throw new UsageError('--schema requires --postgres <url>');
  const location =
    postgres === undefined ? { db: read('db', FLAGS.db) } : { postgres, schema: read('schema', FLAGS.schema) };
  const book = {
    ...location,
    chain: read('chain', FLAGS.chain),
    environment: read('environment', FLAGS.environment),
    settlementContract: read('settlement-contract', FLAGS['settlement-contract']),
  };
  const days = read('older-than', FLAGS['older-than']);
  return { name: 'command', options: { command, book, file: file ?? '', days, json: read('json', FLAGS.json) } };
}

function toMigrateCommand({ given, read }: ParsedArgs): Command {
  const postgres = read('postgres', FLAGS.postgres);
  const location = read('accounts', FLAGS.accounts);
  const accounts = location === 'off' || location === ':memory:' ? undefined : location;
  if (postgres === undefined && accounts === undefined) {
    throw new UsageError('a database is missing: --postgres <url>, --accounts <location>, or both');
  }
  if (postgres === undefined && given.has('schema')) throw new UsageError('--schema requires --postgres <url>');
  const options = {
    ...(postgres && { postgres }),
    schema: read('schema', FLAGS.schema),
    ...(accounts && { accounts }),
  };
  return { name: 'migrate', options };
}

function toServeCommand(parsed: ParsedArgs): Command {
  const { given, read } = parsed;
  const config = read('config', FLAGS.config);
  const serverOptions = {
    port: read('port', FLAGS.port),
    host: read('host', FLAGS.host),
    metricsPort: read('metrics-port', FLAGS['metrics-port']),
    metricsHost: read('metrics-host', FLAGS['metrics-host']),
    log: read('log', FLAGS.log),
    rateLimit: read('rate-limit', FLAGS['rate-limit']),
    trustedProxies: read('trusted-proxies', FLAGS['trusted-proxies']),
    explorer: read('explorer', FLAGS.explorer),
    operatorToken: read('operator-token', FLAGS['operator-token']),
    accounts: read('accounts', FLAGS.accounts),
    affiliateRpc: read('affiliate-rpc', FLAGS['affiliate-rpc']),
    affiliateDomain: read('affiliate-domain', FLAGS['affiliate-domain']),
    coinGecko: read('coin-gecko', FLAGS['coin-gecko']),
    webhookAllow: read('webhook-allow', FLAGS['webhook-allow']),
    fundingCheck: read('funding-check', FLAGS['funding-check']),
    smtp: read('smtp', FLAGS.smtp),
    mailFrom: read('mail-from', FLAGS['mail-from']),
    publicUrl: read('public-url', FLAGS['public-url']),
    vapidSubject: read('vapid-subject', FLAGS['vapid-subject']),
    vapidPublicKey: read('vapid-public-key', FLAGS['vapid-public-key']),
    vapidPrivateKey: read('vapid-private-key', FLAGS['vapid-private-key']),
  };
  if (config !== undefined) {
    const bookFlag = FLAG_NAMES.filter((name) => getScope(name) === undefined).find(parsed.source);
    if (bookFlag !== undefined) {
      throw new UsageError(`${parsed.source(bookFlag)} cannot be combined with --config; set it in the config file`);
    }
    const options = Object.entries(serverOptions).filter(([key]) => parsed.source(toFlagName(key)) !== undefined);
    return { name: 'serve', config, options: { ...Object.fromEntries(options), ...parsed.contract } };
  }
  const postgres = read('postgres', FLAGS.postgres);
  if (postgres !== undefined && given.has('db')) throw new UsageError('--db and --postgres cannot be combined');
  const stray = ['postgres-read', 'schema', 'migrate'].find((name) => given.has(name));
  if (postgres === undefined && stray !== undefined) throw new UsageError(`--${stray} requires --postgres <url>`);
  if (given.has('from-block') && parsed.source('rpc') === undefined)
    throw new UsageError('--from-block requires --rpc <urls>');
  const location = {
    postgres,
    postgresRead: read('postgres-read', FLAGS['postgres-read']),
    schema: read('schema', FLAGS.schema),
    migrate: read('migrate', FLAGS.migrate),
  };
  const options: ServeOptions & BindAddress = {
    ...serverOptions,
    ...parsed.contract,
    chain: read('chain', FLAGS.chain),
    environment: read('environment', FLAGS.environment),
    settlementContract: read('settlement-contract', FLAGS['settlement-contract']),
    ...(postgres === undefined ? { db: read('db', FLAGS.db) } : location),
    maxOpenOrders: read('max-open-orders', FLAGS['max-open-orders']),
    maxPendingPresign: read('max-pending-presign', FLAGS['max-pending-presign']),
    retention: read('retention', FLAGS.retention),
    prices: read('prices', FLAGS.prices),
    solvers: read('solvers', FLAGS.solvers),
    gasPrice: read('gas-price', FLAGS['gas-price']),
    rpc: read('rpc', FLAGS.rpc),
    fromBlock: read('from-block', FLAGS['from-block']),
  };
  return { name: 'serve', options };
}

/** Returns the flag of an option: `rate-limit` for `rateLimit`. */
function toFlagName(option: string): FlagName {
  return option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`) as FlagName; // options are named after flags
}

/** Splits a command line without validating values. If a flag occurs twice, the last one counts. */
function split(args: readonly string[]) {
  // A flag that may have no value takes one only after an equals sign: `--migrate=off`.
  const texts = FLAG_NAMES.map((name) => [name, { type: isSwitch(name) ? 'boolean' : 'string' }] as const);
  const specialFlags = { help: { type: 'boolean', short: 'h' }, version: { type: 'boolean', short: 'v' } } as const;
  const options = { ...Object.fromEntries(texts), ...specialFlags };
  const { tokens } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true });
  const given = new Map<string, string>();
  const words: string[] = [];
  let special: 'help' | 'version' | undefined;
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value);
    if (token.kind !== 'option') continue;
    const { name, rawName, value, inlineValue } = token;
    if (name === 'help' || name === 'version') special ??= name;
    else if (!isFlag(name) || !rawName.startsWith('--')) throw new UsageError(formatUnknownFlag(rawName));
    else if (isSwitch(name) && !inlineValue) given.set(name, 'on');
    // The next flag would otherwise be taken as the value.
    else if (value === undefined || (!inlineValue && /^--?[a-z]/i.test(value))) {
      throw new UsageError(`--${name} requires a value: --${name} ${FLAGS[name].value}`);
    } else given.set(name, value);
  }
  return { given, words, special };
}

function isFlag(name: string): name is FlagName {
  return Object.hasOwn(FLAGS, name);
}

function getScope(name: FlagName): Flag<unknown>['scope'] {
  const flag: Flag<unknown> = FLAGS[name];
  return flag.scope;
}

function isSwitch(name: FlagName): boolean {
  const flag: Flag<unknown> = FLAGS[name];
  return flag.alone === true;
}

function formatUnknownFlag(rawName: string): string {
  const known = [...FLAG_NAMES, 'help', 'version'].map((name) => `--${name}`);
  const text = formatUnknownName('flag', rawName, known);
  return text.endsWith('?') ? text : `${text}; "intentbook --help" lists them`;
}

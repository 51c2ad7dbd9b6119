import { parseArgs } from 'node:util';
import { formatUnknownName } from '#internal';
import type { CommandName, CommandOptions } from '../commands/index.ts';
import { COMMAND_NAMES, TAKES_FILE } from '../commands/names.ts';
import { rejectUnknownVariables } from '../config/environment.ts';
import type { ServeOptions } from '../index.ts';
import type { Flag, FlagName } from './flags.ts';
import { envName, FLAG_NAMES, FLAGS } from './flags.ts';
import { UsageError } from './usage-error.ts';

/** Whose schemas are to be brought up to date: those of a book, of the account interface, or of both. */
export interface MigrateOptions {
  readonly postgres?: string;
  readonly schema: string;
  /** Where accounts are kept. */
  readonly accounts?: string;
}

/** Where a server listens. */
export interface BindAddress {
  readonly port: number;
  readonly host: string;
}

/** What a command line asks for. */
export type Command =
  | { readonly name: 'help'; readonly of?: CommandName }
  | { readonly name: 'upkeep'; readonly options: CommandOptions }
  | { readonly name: 'version' }
  | { readonly name: 'migrate'; readonly options: MigrateOptions }
  | { readonly name: 'serve'; readonly options: ServeOptions & BindAddress }
  /** What the file says, but for what is said here. */
  | { readonly name: 'serve'; readonly config: string; readonly options: ServeOptions };

/** Where the book is that something is to be done with. */
const BOOK_FLAGS: readonly FlagName[] = ['chain', 'environment', 'settlement-contract', 'db', 'postgres', 'schema'];

/** The flags of each command that does one thing and ends. */
const UPKEEP_FLAGS: Readonly<Record<CommandName, readonly FlagName[]>> = {
  export: [...BOOK_FLAGS, 'json'],
  import: [...BOOK_FLAGS, 'json'],
  verify: [...BOOK_FLAGS, 'json'],
  prune: [...BOOK_FLAGS, 'older-than', 'json'],
  backup: ['db', 'json'],
};

const MIGRATE_FLAGS: readonly FlagName[] = ['postgres', 'schema', 'accounts'];
const SERVE_FLAGS = FLAG_NAMES.filter((name) => scopeOf(name) !== 'upkeep');
const COMMANDS = ['serve', 'migrate', ...COMMAND_NAMES, 'help', 'version'] as const;

/** Reads the value of a flag, from wherever it is said. */
type Reader = <T>(name: FlagName, flag: Flag<T>) => T;

/**
 * Reads a command line. Every flag has an environment twin, `INTENTBOOK_MAX_OPEN_ORDERS` for `--max-open-orders`; the
 * flag wins, and a variable that is empty counts as absent.
 *
 * @throws UsageError saying in one line what is wrong.
 */
export function parseCommand(args: readonly string[], env: Readonly<Record<string, string | undefined>>): Command {
  const { given, words, asked } = split(args);
  const [word, second, third] = words;
  const upkeep = COMMAND_NAMES.find((name) => name === word);
  if (asked !== undefined) return { name: asked, ...(asked === 'help' && upkeep !== undefined && { of: upkeep }) };
  if (word === undefined) throw new UsageError('a command is missing: run "intentbook serve", or "intentbook --help"');
  const command = COMMANDS.find((name) => name === word);
  if (command === undefined) throw new UsageError(formatUnknownName('command', word, COMMANDS));
  const surplus = upkeep !== undefined && TAKES_FILE.includes(upkeep) ? third : second;
  if (surplus !== undefined) throw new UsageError(`"${surplus}" is one word too many; flags begin with two dashes`);
  if (command === 'help' || command === 'version') return { name: command };
  rejectUnknownVariables(env);

  const said: ParsedArgs = {
    given,
    contract: contractWords(env),
    source: (name) => {
      if (given.has(name)) return `--${name}`;
      return env[envName(name)] ? envName(name) : undefined;
    },
    read(name, flag) {
      const source = said.source(name);
      if (source === undefined) return flag.initial;
      const text = given.get(name) ?? env[envName(name)] ?? '';
      const value = text === '' ? undefined : flag.parse(text);
      if (value === undefined) {
        throw new UsageError(`${source} must be ${flag.expected}${flag.secret === true ? '' : `, not "${text}"`}`);
      }
      return value;
    },
  };
  requireFlagsOf(command, given);
  if (upkeep !== undefined) return upkeepCommand(upkeep, second, said);
  return command === 'migrate' ? migrateCommand(said) : serveCommand(said);
}

/** What has been said, on the command line and in the environment. */
interface ParsedArgs {
  readonly given: ReadonlyMap<string, string>;
  /** Who has said it, for messages; undefined when nobody has. */
  source(name: FlagName): string | undefined;
  readonly read: Reader;
  /** What the environment says of notifications, in the contract's words. */
  readonly contract: Pick<ServeOptions, 'notifications' | 'cms'>;
}

/** @throws UsageError when a content system is named without its key. */
function contractWords(env: Readonly<Record<string, string | undefined>>): ParsedArgs['contract'] {
  const { CMS_ENABLED: enabled, CMS_BASE_URL: url, CMS_API_KEY: apiKey } = env;
  if (enabled === 'false') return { notifications: 'off' };
  if (!url) return {};
  if (!apiKey) throw new UsageError('CMS_BASE_URL needs CMS_API_KEY');
  if (!/^https?:\/\/[^/]/.test(url) || !URL.canParse(url))
    throw new UsageError('CMS_BASE_URL must be an http or https URL');
  return { cms: { url, apiKey } };
}

function requireFlagsOf(command: (typeof COMMANDS)[number], given: ReadonlyMap<string, string>): void {
  const upkeep = COMMAND_NAMES.find((name) => name === command);
  const own = upkeep === undefined ? (command === 'migrate' ? MIGRATE_FLAGS : SERVE_FLAGS) : UPKEEP_FLAGS[upkeep];
  const foreign = [...given.keys()].find((name) => !own.some((each) => each === name));
  if (foreign !== undefined) throw new UsageError(`--${foreign} is no flag of "intentbook ${command}"`);
}

function upkeepCommand(command: CommandName, file: string | undefined, { given, read }: ParsedArgs): Command {
  if (file === undefined && TAKES_FILE.includes(command)) {
    throw new UsageError(`say which file: intentbook ${command} <file>`);
  }
  const postgres = read('postgres', FLAGS.postgres);
  if (postgres !== undefined && given.has('db')) throw new UsageError('--db and --postgres: say one of them');
  if (postgres === undefined && given.has('schema')) throw new UsageError('--schema needs --postgres <url>');
  const place =
    postgres === undefined ? { db: read('db', FLAGS.db) } : { postgres, schema: read('schema', FLAGS.schema) };
  const book = {
    ...place,
    chain: read('chain', FLAGS.chain),
    environment: read('environment', FLAGS.environment),
    settlementContract: read('settlement-contract', FLAGS['settlement-contract']),
  };
  const days = read('older-than', FLAGS['older-than']);
  return { name: 'upkeep', options: { command, book, file: file ?? '', days, json: read('json', FLAGS.json) } };
}

function migrateCommand({ given, read }: ParsedArgs): Command {
  const postgres = read('postgres', FLAGS.postgres);
  const place = read('accounts', FLAGS.accounts);
  const accounts = place === 'off' || place === ':memory:' ? undefined : place;
  if (postgres === undefined && accounts === undefined) {
    throw new UsageError('say which database to migrate: --postgres <url>, --accounts <place>, or both');
  }
  if (postgres === undefined && given.has('schema')) throw new UsageError('--schema needs --postgres <url>');
  const options = {
    ...(postgres && { postgres }),
    schema: read('schema', FLAGS.schema),
    ...(accounts && { accounts }),
  };
  return { name: 'migrate', options };
}

function serveCommand(said: ParsedArgs): Command {
  const { given, read } = said;
  const config = read('config', FLAGS.config);
  const ofServer = {
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
    const beside = FLAG_NAMES.filter((name) => scopeOf(name) === undefined).find(said.source);
    if (beside !== undefined) {
      throw new UsageError(`${said.source(beside)} cannot stand beside a configuration file: say it there`);
    }
    const options = Object.entries(ofServer).filter(([key]) => said.source(flagOf(key)) !== undefined);
    return { name: 'serve', config, options: { ...Object.fromEntries(options), ...said.contract } };
  }
  const postgres = read('postgres', FLAGS.postgres);
  if (postgres !== undefined && given.has('db')) throw new UsageError('--db and --postgres: say one of them');
  const stray = ['postgres-read', 'schema', 'migrate'].find((name) => given.has(name));
  if (postgres === undefined && stray !== undefined) throw new UsageError(`--${stray} needs --postgres <url>`);
  if (given.has('from-block') && said.source('rpc') === undefined)
    throw new UsageError('--from-block needs --rpc <urls>');
  const place = {
    postgres,
    postgresRead: read('postgres-read', FLAGS['postgres-read']),
    schema: read('schema', FLAGS.schema),
    migrate: read('migrate', FLAGS.migrate),
  };
  const options: ServeOptions & BindAddress = {
    ...ofServer,
    ...said.contract,
    chain: read('chain', FLAGS.chain),
    environment: read('environment', FLAGS.environment),
    settlementContract: read('settlement-contract', FLAGS['settlement-contract']),
    ...(postgres === undefined ? { db: read('db', FLAGS.db) } : place),
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

/** `rate-limit`, for the option `rateLimit`. */
function flagOf(option: string): FlagName {
  return option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`) as FlagName; // options are named after flags
}

/** Takes a command line apart without judging values. Of a flag given twice the last counts. */
function split(args: readonly string[]) {
  // A flag that may stand alone takes a value only where that is joined to it: `--migrate=off`.
  const texts = FLAG_NAMES.map((name) => [name, { type: standsAlone(name) ? 'boolean' : 'string' }] as const);
  const asking = { help: { type: 'boolean', short: 'h' }, version: { type: 'boolean', short: 'v' } } as const;
  const options = { ...Object.fromEntries(texts), ...asking };
  const { tokens } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true });
  const given = new Map<string, string>();
  const words: string[] = [];
  let asked: 'help' | 'version' | undefined;
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value);
    if (token.kind !== 'option') continue;
    const { name, rawName, value, inlineValue } = token;
    if (name === 'help' || name === 'version') asked ??= name;
    else if (!isFlag(name) || !rawName.startsWith('--')) throw new UsageError(unknownFlag(rawName));
    else if (standsAlone(name) && !inlineValue) given.set(name, 'on');
    // A flag that follows is taken for the value otherwise.
    else if (value === undefined || (!inlineValue && /^--?[a-z]/i.test(value))) {
      throw new UsageError(`--${name} needs a value: --${name} ${FLAGS[name].value}`);
    } else given.set(name, value);
  }
  return { given, words, asked };
}

function isFlag(name: string): name is FlagName {
  return Object.hasOwn(FLAGS, name);
}

function scopeOf(name: FlagName): Flag<unknown>['scope'] {
  const flag: Flag<unknown> = FLAGS[name];
  return flag.scope;
}

function standsAlone(name: FlagName): boolean {
  const flag: Flag<unknown> = FLAGS[name];
  return flag.alone === true;
}

function unknownFlag(rawName: string): string {
  const known = [...FLAG_NAMES, 'help', 'version'].map((name) => `--${name}`);
  const text = formatUnknownName('flag', rawName, known);
  return text.endsWith('?') ? text : `${text}; "intentbook --help" lists them`;
}

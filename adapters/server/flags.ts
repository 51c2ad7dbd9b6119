import { parseArgs } from 'node:util';
import { CHAINS, isIpRange, parseDecimal, unknownName } from 'intentbook/adapter';
import type { ServeOptions } from './index.ts';
import { DEFAULT_GAS_PRICE } from './prices.ts';
import { DEFAULT_RATE_LIMIT, type RateLimit } from './rate-limit.ts';

const CHAIN_NAMES = CHAINS.map(({ segment }) => segment);

/** A command line that cannot be understood. The message is one line for the person who typed it. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** A flag of `serve`. Its environment twin is read alike. */
interface Flag<T> {
  /** What stands for the value in the help. */
  readonly value: string;
  readonly help: string;
  readonly initial: T;
  /** The same for the help, where it is not the text that is typed. */
  readonly initialText?: string;
  /** Undefined when the text is no such value; `expected` says what would be one. */
  parse(text: string): T | undefined;
  readonly expected: string;
  /** Whether a value must not be repeated in a message: it may hold a password. */
  readonly secret?: boolean;
}

const PORT: Flag<number> = {
  value: '<number>',
  help: 'port to listen on; 0 picks a free one',
  initial: 8080,
  parse: (text) => wholeNumber(text, 0, 65535),
  expected: 'a whole number from 0 to 65535',
};

const HOST: Flag<string> = {
  value: '<address>',
  help: 'address to listen on; 0.0.0.0 lets other machines in',
  initial: '127.0.0.1',
  parse: (text) => text,
  expected: 'an address of this machine',
};

const CHAIN: Flag<string> = {
  value: '<name>',
  help: 'chain whose orders are kept, one of those below',
  initial: 'sepolia',
  parse: (text) => (CHAIN_NAMES.includes(text) ? text : undefined),
  expected: `one of ${CHAIN_NAMES.join(', ')}`,
};

const DB: Flag<string> = {
  value: '<file>',
  help: 'database file, made when missing; ":memory:" forgets all at the end',
  initial: 'intentbook.sqlite',
  parse: (text) => text,
  expected: 'a file name, or ":memory:"',
};

const url = (help: string): Flag<string | undefined> => ({
  value: '<url>',
  help,
  initial: undefined,
  parse: (text) => (/^postgres(ql)?:\/\//.test(text) ? text : undefined),
  expected: 'a connection string: postgres://user:password@host:5432/database',
  secret: true,
});

const SCHEMA: Flag<string> = {
  value: '<name>',
  help: 'schema of the tables in PostgreSQL',
  initial: 'intentbook',
  parse: (text) => (/^(?!pg_)[a-z_][a-z0-9_]{0,39}$/i.test(text) ? text : undefined),
  expected: 'letters, digits and "_", at most 40, not beginning with a digit or "pg_"',
};

const SWITCH: Flag<boolean> = {
  value: 'on|off',
  help: 'bring the schema in PostgreSQL up to date first; --migrate alone is "on"',
  initial: false,
  parse: (text) => ({ on: true, off: false })[text],
  expected: '"on" or "off"',
};

const cap = (initial: number, help: string): Flag<number | 'off'> => ({
  value: '<number>',
  help: `${help}; "off" for any number`,
  initial,
  parse: (text) => (text === 'off' ? text : wholeNumber(text, 1, Number.MAX_SAFE_INTEGER)),
  expected: 'a whole number from 1 up, or "off"',
});

const PRICES: Flag<string | undefined> = {
  value: '<file>',
  help: 'JSON file of fixed prices to quote by, or "off"; test tokens on Sepolia',
  initial: undefined,
  parse: (text) => text,
  expected: 'a file name, or "off"',
};

const SOLVERS: Flag<readonly string[] | undefined> = {
  value: '<urls>',
  help: 'engines to ask for quotes, separated by commas',
  initial: undefined,
  parse: (text) => {
    const urls = text.split(',').map((each) => each.trim());
    return urls.every((each) => /^https?:\/\/[^/]/.test(each) && URL.canParse(each)) ? urls : undefined;
  },
  expected: 'one or more http or https URLs, separated by commas',
  secret: true,
};

const RATE_LIMIT: Flag<RateLimit | 'off'> = {
  value: '<numbers>',
  help: 'requests a second that read, that write, and streams of one client, or "off"',
  initial: DEFAULT_RATE_LIMIT,
  initialText: Object.values(DEFAULT_RATE_LIMIT).join(),
  parse: (text) => {
    if (text === 'off') return text;
    const [reads, writes, streams, ...more] = text.split(',').map((each) => wholeNumber(each.trim(), 1, 1_000_000));
    if (reads === undefined || writes === undefined || streams === undefined || more.length > 0) return undefined;
    return { reads, writes, streams };
  },
  expected: 'three whole numbers from 1 up, as in 50,10,32, or "off"',
};

const TRUSTED_PROXIES: Flag<readonly string[] | undefined> = {
  value: '<ranges>',
  help: 'proxies whose X-Forwarded-For is believed, separated by commas',
  initial: undefined,
  parse: (text) => {
    const ranges = text.split(',').map((each) => each.trim());
    return ranges.every(isIpRange) ? ranges : undefined;
  },
  expected: 'addresses or ranges, separated by commas, as in 127.0.0.1,10.0.0.0/8',
};

const GAS_PRICE: Flag<string> = {
  value: '<wei>',
  help: 'price of one unit of gas in quotes',
  initial: DEFAULT_GAS_PRICE,
  parse: (text) => (parseDecimal(text) === undefined ? undefined : text),
  expected: 'a decimal number of wei',
};

const FLAGS = {
  port: PORT,
  host: HOST,
  chain: CHAIN,
  db: DB,
  postgres: url('PostgreSQL database to keep the orders in, instead of a file'),
  'postgres-read': url('streaming copy of that database, to read from'),
  schema: SCHEMA,
  migrate: SWITCH,
  'max-open-orders': cap(1000, 'live orders that one owner may have'),
  'max-pending-presign': cap(100, 'orders of one owner that wait for their signature on chain'),
  'rate-limit': RATE_LIMIT,
  'trusted-proxies': TRUSTED_PROXIES,
  prices: PRICES,
  solvers: SOLVERS,
  'gas-price': GAS_PRICE,
};

const FLAG_NAMES = Object.keys(FLAGS);
const COMMANDS = ['serve', 'migrate', 'help', 'version'] as const;

/** The flags of `migrate`; `serve` has them all. */
const MIGRATE_FLAGS: readonly string[] = ['postgres', 'schema'];

/** What there is to know of a database. */
export interface MigrateOptions {
  readonly postgres: string;
  readonly schema: string;
}

/** What a command line asks for. */
export type Command =
  | { readonly name: 'help' }
  | { readonly name: 'version' }
  | { readonly name: 'migrate'; readonly options: MigrateOptions }
  | { readonly name: 'serve'; readonly options: ServeOptions & { readonly port: number; readonly host: string } };

/**
 * Reads a command line. Every flag has an environment twin, `INTENTBOOK_MAX_OPEN_ORDERS` for `--max-open-orders`; the
 * flag wins, and a variable that is empty counts as absent.
 *
 * @throws UsageError saying in one line what is wrong.
 */
export function parseCommand(args: readonly string[], env: Readonly<Record<string, string | undefined>>): Command {
  const { given, words, asked } = split(args);
  if (asked !== undefined) return { name: asked };
  const [word, surplus] = words;
  if (word === undefined) throw new UsageError('a command is missing: run "intentbook serve", or "intentbook --help"');
  const command = COMMANDS.find((name) => name === word);
  if (command === undefined) throw new UsageError(unknownName('command', word, COMMANDS));
  if (surplus !== undefined) throw new UsageError(`"${surplus}" is one word too many; flags begin with two dashes`);
  if (command === 'help' || command === 'version') return { name: command };

  function read<T>(name: string, flag: Flag<T>): T {
    const [source, text] = given.has(name) ? [`--${name}`, given.get(name)] : [envName(name), env[envName(name)]];
    if (text === undefined || (text === '' && !given.has(name))) return flag.initial;
    const value = text === '' ? undefined : flag.parse(text);
    if (value === undefined) {
      throw new UsageError(`${source} must be ${flag.expected}${flag.secret === true ? '' : `, not "${text}"`}`);
    }
    return value;
  }

  const postgres = read('postgres', FLAGS.postgres);
  const schema = read('schema', FLAGS.schema);
  if (command === 'migrate') {
    const foreign = [...given.keys()].find((name) => !MIGRATE_FLAGS.includes(name));
    if (foreign !== undefined) throw new UsageError(`--${foreign} is no flag of "intentbook migrate"`);
    if (postgres === undefined) throw new UsageError('say which database to migrate: --postgres <url>');
    return { name: 'migrate', options: { postgres, schema } };
  }
  if (postgres !== undefined && given.has('db')) throw new UsageError('--db and --postgres: say one of them');
  const readPostgres = read('postgres-read', FLAGS['postgres-read']);
  const migrate = read('migrate', FLAGS.migrate);
  const trustedProxies = read('trusted-proxies', FLAGS['trusted-proxies']);
  const prices = read('prices', FLAGS.prices);
  const solvers = read('solvers', FLAGS.solvers);
  const stray = ['postgres-read', 'schema', 'migrate'].find((name) => given.has(name));
  if (postgres === undefined && stray !== undefined) throw new UsageError(`--${stray} needs --postgres <url>`);
  return {
    name: 'serve',
    options: {
      port: read('port', FLAGS.port),
      host: read('host', FLAGS.host),
      chain: read('chain', FLAGS.chain),
      ...(postgres === undefined
        ? { db: read('db', FLAGS.db) }
        : { postgres, schema, migrate, ...(readPostgres === undefined ? {} : { readPostgres }) }),
      maxOpenOrders: read('max-open-orders', FLAGS['max-open-orders']),
      maxPendingPresign: read('max-pending-presign', FLAGS['max-pending-presign']),
      rateLimit: read('rate-limit', FLAGS['rate-limit']),
      ...(trustedProxies === undefined ? {} : { trustedProxies }),
      ...(prices === undefined ? {} : { prices }),
      ...(solvers === undefined ? {} : { solvers }),
      gasPrice: read('gas-price', FLAGS['gas-price']),
    },
  };
}

/** Takes a command line apart without judging values. Of a flag given twice the last counts. */
function split(args: readonly string[]) {
  // `--migrate` may stand alone, so a value of its own must be joined to it: `--migrate=off`.
  const texts = FLAG_NAMES.map((name) => [name, { type: name === 'migrate' ? 'boolean' : 'string' }] as const);
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
    else if (!FLAG_NAMES.includes(name) || !rawName.startsWith('--')) {
      throw new UsageError(unknownFlag(rawName));
    }
    // The one flag that says enough by itself. A word after it is not taken for its value.
    else if (name === 'migrate' && !inlineValue) given.set(name, 'on');
    // A flag that follows is taken for the value otherwise.
    else if (value === undefined || (!inlineValue && /^--?[a-z]/i.test(value))) {
      throw new UsageError(`--${name} needs a value: --${name} ${FLAGS[name as keyof typeof FLAGS].value}`); // a flag's name, seen above
    } else given.set(name, value);
  }
  return { given, words, asked };
}

function unknownFlag(rawName: string): string {
  const known = [...FLAG_NAMES, 'help', 'version'].map((name) => `--${name}`);
  const text = unknownName('flag', rawName, known);
  return text.endsWith('?') ? text : `${text}; "intentbook --help" lists them`;
}

function envName(flag: string): string {
  return `INTENTBOOK_${flag.replaceAll('-', '_').toUpperCase()}`;
}

function wholeNumber(text: string, least: number, most: number): number | undefined {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  return value >= least && value <= most ? value : undefined;
}

/** The text of `--help`. */
export function helpText(): string {
  const flags = Object.entries(FLAGS).map(([name, flag]: [string, Flag<unknown>]) => {
    const { value, help, initial, initialText = initial === false ? 'off' : initial } = flag;
    const left = `  --${name} ${value}`.padEnd(34);
    const unless = initial === undefined ? 'given' : `${initialText} unless given`;
    return `${left}${help}\n${' '.repeat(34)}${unless} here or as ${envName(name)}`;
  });
  return `intentbook: an order book for signed trade intents

Usage
  intentbook serve [flags]     serve one chain's order book over HTTP, kept in a file or in PostgreSQL
  intentbook migrate --postgres <url> [--schema <name>]
                               make the tables in PostgreSQL, or bring them up to date
  intentbook --help            this text
  intentbook --version         which version this is

Flags of serve
${flags.join('\n')}

Chains
  ${CHAIN_NAMES.join(' ')}

Try it
  intentbook serve --port 8080 --chain sepolia
  curl http://127.0.0.1:8080/api/v1/version
  curl http://127.0.0.1:8080/api/v1/orders?limit=5

The server runs until it gets SIGINT (Ctrl-C) or SIGTERM. It then takes no more connections, gives the requests that
run 10 seconds to end, closes the database and exits with 0; a second signal ends it at once. It exits with 1 when it
cannot start, and with 2 when it does not understand what it was asked.
`;
}

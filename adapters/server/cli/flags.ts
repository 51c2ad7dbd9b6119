import type { Environment } from '#internal';
import { ENVIRONMENTS, isIpRange, parseDecimal, parseHex } from '#internal';
import { CHAIN_NAMES } from '../config/schema.ts';
import { DEFAULT_GAS_PRICE } from '../quote-options.ts';
import { DEFAULT_RATE_LIMIT, type RateLimit } from '../rate-limit.ts';

/** A command-line flag. Its environment variable is parsed in the same way. */
export interface Flag<T> {
  /** Placeholder of the value in the help. */
  readonly value: string;
  readonly help: string;
  readonly initial: T;
  /** The default as typed on the command line, if it differs from `initial`. */
  readonly initialText?: string;
  /** Parses the value. Returns undefined if it is invalid; `expected` describes valid values. */
  parse(text: string): T | undefined;
  readonly expected: string;
  /** Whether messages must not repeat the value, since it may contain a password. */
  readonly secret?: boolean;
  /** Whether the flag may have no value; then it means "on". */
  readonly alone?: boolean;
  /**
   * `server`: may be combined with a configuration file. `command`: belongs to a maintenance command. Absent: a book.
   */
  readonly scope?: 'server' | 'command';
}

const PORT: Flag<number> = {
  value: '<number>',
  help: 'port to listen on; 0 selects a free port',
  initial: 8080,
  parse: (text) => parseInteger(text, 0, 65535),
  expected: 'an integer from 0 to 65535',
  scope: 'server',
};

const HOST: Flag<string> = {
  value: '<address>',
  help: 'address to listen on; 0.0.0.0 for all interfaces',
  initial: '127.0.0.1',
  parse: (text) => text,
  expected: 'an address of this machine',
  scope: 'server',
};

const CHAIN: Flag<string | number> = {
  value: '<name>',
  help: 'chain of the orders: a name below, or a chain id',
  initial: 'sepolia',
  parse: (text) => (CHAIN_NAMES.includes(text) ? text : parseInteger(text, 1, Number.MAX_SAFE_INTEGER)),
  expected: `one of ${CHAIN_NAMES.join(', ')}, or a chain id`,
};

const ENVIRONMENT: Flag<Environment | undefined> = {
  value: '<name>',
  help: 'deployment environment: production or staging',
  initial: undefined,
  parse: (text) => ENVIRONMENTS.find((name) => name === text),
  expected: `one of ${ENVIRONMENTS.join(', ')}`,
};

const SETTLEMENT_CONTRACT: Flag<string | undefined> = {
  value: '<address>',
  help: 'address of the settlement contract',
  initial: undefined,
  parse: (text) => parseHex(text, 20),
  expected: '0x and 40 hex digits',
};

const CONFIG: Flag<string | undefined> = {
  value: '<file>',
  help: 'JSON configuration file with one or more books',
  initial: undefined,
  parse: (text) => text,
  expected: 'a file name',
  scope: 'server',
};

const DB: Flag<string> = {
  value: '<file>',
  help: 'SQLite file, created if missing; ":memory:" keeps nothing',
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
  help: 'PostgreSQL schema of the tables',
  initial: 'intentbook',
  parse: (text) => (/^(?!pg_)[a-z_][a-z0-9_]{0,39}$/i.test(text) ? text : undefined),
  expected: 'letters, digits and "_", at most 40, not beginning with a digit or "pg_"',
};

const SWITCH: Flag<boolean> = {
  value: 'on|off',
  help: 'migrate the PostgreSQL schema at start; --migrate alone means "on"',
  initial: false,
  alone: true,
  parse: (text) => ({ on: true, off: false })[text],
  expected: '"on" or "off"',
};

const cap = (initial: number, help: string): Flag<number | 'off'> => ({
  value: '<number>',
  help: `${help}; "off" for no limit`,
  initial,
  parse: (text) => (text === 'off' ? text : parseInteger(text, 1, Number.MAX_SAFE_INTEGER)),
  expected: 'an integer from 1 up, or "off"',
});

const PRICES: Flag<string | undefined> = {
  value: '<file>',
  help: 'JSON file of fixed prices for quotes, or "off"; on Sepolia test tokens',
  initial: undefined,
  parse: (text) => text,
  expected: 'a file name, or "off"',
};

const urls = (help: string): Flag<readonly string[] | undefined> => ({
  value: '<urls>',
  help: `${help}, separated by commas`,
  initial: undefined,
  parse: (text) => {
    const urls = text.split(',').map((each) => each.trim());
    return urls.every((each) => /^https?:\/\/[^/]/.test(each) && URL.canParse(each)) ? urls : undefined;
  },
  expected: 'one or more http or https URLs, separated by commas',
  secret: true,
});

const FROM_BLOCK: Flag<number | undefined> = {
  value: '<number>',
  help: 'first block to index, with --rpc; the next block',
  initial: undefined,
  parse: (text) => parseInteger(text, 1, Number.MAX_SAFE_INTEGER),
  expected: 'an integer from 1 up',
};

const RETENTION: Flag<number | undefined> = {
  value: '<days>',
  help: 'days after which finished orders are deleted; never',
  initial: undefined,
  parse: (text) => parseInteger(text, 1, 36_500),
  expected: 'a number of days from 1 to 36500',
};

const METRICS_PORT: Flag<number | undefined> = {
  value: '<number>',
  help: 'separate port for Prometheus (/metrics)',
  initial: undefined,
  parse: PORT.parse,
  expected: PORT.expected,
  scope: 'server',
};

const METRICS_HOST: Flag<string | undefined> = {
  value: '<address>',
  help: 'address of the metrics port; the address of --host',
  initial: undefined,
  parse: HOST.parse,
  expected: HOST.expected,
  scope: 'server',
};

const LOG: Flag<'text' | 'json'> = {
  value: 'text|json',
  help: 'log format: text, or one JSON object per request',
  initial: 'text',
  parse: (text) => (text === 'text' || text === 'json' ? text : undefined),
  expected: '"text" or "json"',
  scope: 'server',
};

const RATE_LIMIT: Flag<RateLimit | 'off'> = {
  value: '<numbers>',
  help: 'per client: reads and writes a second, and open streams; or "off"',
  initial: DEFAULT_RATE_LIMIT,
  initialText: Object.values(DEFAULT_RATE_LIMIT).join(),
  parse: (text) => {
    if (text === 'off') return text;
    const [reads, writes, streams, ...more] = text.split(',').map((each) => parseInteger(each.trim(), 1, 1_000_000));
    if (reads === undefined || writes === undefined || streams === undefined || more.length > 0) return undefined;
    return { reads, writes, streams };
  },
  expected: 'three integers from 1 up, as in 50,10,32, or "off"',
  scope: 'server',
};

const TRUSTED_PROXIES: Flag<readonly string[] | undefined> = {
  value: '<ranges>',
  help: 'proxies whose X-Forwarded-For is trusted, separated by commas',
  initial: undefined,
  parse: (text) => {
    const ranges = text.split(',').map((each) => each.trim());
    return ranges.every(isIpRange) ? ranges : undefined;
  },
  expected: 'addresses or ranges, separated by commas, as in 127.0.0.1,10.0.0.0/8',
  scope: 'server',
};

const AFFILIATE_DOMAIN: Flag<string | undefined> = {
  value: '<name>',
  help: 'EIP-712 domain name of affiliate codes; "Service Affiliate"',
  initial: undefined,
  parse: (text) => text,
  expected: 'a name',
  scope: 'server',
};

const COIN_GECKO: Flag<{ readonly apiKey: string } | undefined> = {
  value: '<key>',
  help: 'API key of CoinGecko, for prices in US dollars',
  initial: undefined,
  parse: (apiKey) => ({ apiKey }),
  expected: 'a key',
  secret: true,
  scope: 'server',
};

const EXPLORER: Flag<boolean> = {
  value: '<on|off>',
  help: 'serve the explorer page',
  initial: true,
  initialText: 'on',
  parse: (text) => (text === 'on' ? true : text === 'off' ? false : undefined),
  expected: '"on" or "off"',
  scope: 'server',
};

const OPERATOR_TOKEN: Flag<string | undefined> = {
  value: '<text>',
  help: 'token of operator routes: Authorization: Bearer <text>',
  initial: undefined,
  parse: (text) => (/^[!-~]{16,}$/.test(text) ? text : undefined),
  expected: '16 or more letters, digits and signs, without blanks',
  secret: true,
  scope: 'server',
};

const ACCOUNTS: Flag<string | undefined> = {
  value: '<place>',
  help: 'account store: a file, ":memory:", a PostgreSQL URL, or "off"; next to --db',
  initial: undefined,
  parse: (text) => text,
  expected: 'a file name, ":memory:", a connection string or "off"',
  secret: true,
  scope: 'server',
};

const WEBHOOK_ALLOW: Flag<readonly string[] | undefined> = {
  ...TRUSTED_PROXIES,
  help: 'private addresses allowed as webhook targets, for tests, separated by commas',
};

const textFlag = (value: string, help: string, expected: string, more: { readonly secret?: boolean } = {}) =>
  ({ value, help, initial: undefined, parse: (text) => text, expected, scope: 'server', ...more }) satisfies Flag<
    string | undefined
  >;

const FUNDING_CHECK: Flag<number | 'off' | undefined> = {
  value: '<seconds>',
  help: 'seconds between two funding checks of open orders, with --rpc, or "off"; 60',
  initial: undefined,
  parse: (text) => (text === 'off' ? text : parseInteger(text, 1, 86_400)),
  expected: 'an integer from 1 to 86400, or "off"',
  scope: 'server',
};

const GAS_PRICE: Flag<string> = {
  value: '<wei>',
  help: 'gas price for quotes',
  initial: DEFAULT_GAS_PRICE,
  parse: (text) => (parseDecimal(text) === undefined ? undefined : text),
  expected: 'a decimal number of wei',
};

const OLDER_THAN: Flag<number> = {
  value: '<days>',
  help: 'minimum days since an order has finished',
  initial: 90,
  parse: (text) => parseInteger(text, 1, 36_500),
  expected: 'a number of days from 1 to 36500',
  scope: 'command',
};

const JSON_OUTPUT: Flag<boolean> = {
  value: 'on|off',
  help: 'print the result as JSON; --json alone means "on"',
  initial: false,
  alone: true,
  parse: SWITCH.parse,
  expected: SWITCH.expected,
  scope: 'command',
};

/** The flags of all commands. */
export const FLAGS = {
  config: CONFIG,
  port: PORT,
  host: HOST,
  chain: CHAIN,
  environment: ENVIRONMENT,
  'settlement-contract': SETTLEMENT_CONTRACT,
  db: DB,
  postgres: url('PostgreSQL database, instead of a file'),
  'postgres-read': url('read replica of that database'),
  schema: SCHEMA,
  migrate: SWITCH,
  'max-open-orders': cap(1000, 'maximum live orders per owner'),
  'max-pending-presign': cap(100, 'maximum orders per owner that wait for a presignature'),
  retention: RETENTION,
  'metrics-port': METRICS_PORT,
  'metrics-host': METRICS_HOST,
  log: LOG,
  'rate-limit': RATE_LIMIT,
  'trusted-proxies': TRUSTED_PROXIES,
  explorer: EXPLORER,
  'operator-token': OPERATOR_TOKEN,
  accounts: ACCOUNTS,
  'webhook-allow': WEBHOOK_ALLOW,
  'funding-check': FUNDING_CHECK,
  smtp: textFlag('<url>', 'mail server for notifications: smtps://user:password@host', 'a URL', { secret: true }),
  'mail-from': textFlag('<address>', 'sender address of mails', 'an address'),
  'public-url': textFlag('<url>', 'public URL of this server, for links in mails', 'a URL'),
  'vapid-subject': textFlag('<url>', 'contact for push services: mailto: or https:', 'a URL'),
  'vapid-public-key': textFlag('<key>', 'public key of web push, in base64url', 'a key'),
  'vapid-private-key': textFlag('<key>', 'private key of web push, in base64url', 'a key', { secret: true }),
  prices: PRICES,
  solvers: urls('solver engines that quote'),
  'gas-price': GAS_PRICE,
  rpc: urls('nodes of the chain, the preferred one first'),
  'from-block': FROM_BLOCK,
  'older-than': OLDER_THAN,
  json: JSON_OUTPUT,
  'affiliate-rpc': { ...urls('nodes of chain 1, for signatures of contract wallets'), scope: 'server' },
  'affiliate-domain': AFFILIATE_DOMAIN,
  'coin-gecko': COIN_GECKO,
} as const satisfies Readonly<Record<string, Flag<unknown>>>;

export type FlagName = keyof typeof FLAGS;

export const FLAG_NAMES = Object.keys(FLAGS) as readonly FlagName[]; // the keys of the table

/** Returns the environment variable of a flag. */
export function getVariableName(flag: string): string {
  return `INTENTBOOK_${flag.replaceAll('-', '_').toUpperCase()}`;
}

function parseInteger(text: string, least: number, most: number): number | undefined {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  return value >= least && value <= most ? value : undefined;
}

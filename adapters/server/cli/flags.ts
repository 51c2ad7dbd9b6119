import type { Environment } from '#internal';
import { ENVIRONMENTS, isIpRange, parseDecimal, parseHex } from '#internal';
import { CHAIN_NAMES } from '../config/schema.ts';
import { DEFAULT_GAS_PRICE } from '../quote-options.ts';
import { DEFAULT_RATE_LIMIT, type RateLimit } from '../rate-limit.ts';

/** A flag of the command line. Its environment twin is read alike. */
export interface Flag<T> {
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
  /** Whether it says enough without a value, and then means "on". */
  readonly alone?: boolean;
  /** What it concerns besides a book: the server, and then it may stand beside a configuration file; or its upkeep. */
  readonly scope?: 'server' | 'upkeep';
}

const PORT: Flag<number> = {
  value: '<number>',
  help: 'port to listen on; 0 picks a free one',
  initial: 8080,
  parse: (text) => wholeNumber(text, 0, 65535),
  expected: 'a whole number from 0 to 65535',
  scope: 'server',
};

const HOST: Flag<string> = {
  value: '<address>',
  help: 'address to listen on; 0.0.0.0 lets other machines in',
  initial: '127.0.0.1',
  parse: (text) => text,
  expected: 'an address of this machine',
  scope: 'server',
};

const CHAIN: Flag<string | number> = {
  value: '<name>',
  help: 'chain whose orders are kept, one of those below or the id of another',
  initial: 'sepolia',
  parse: (text) => (CHAIN_NAMES.includes(text) ? text : wholeNumber(text, 1, Number.MAX_SAFE_INTEGER)),
  expected: `one of ${CHAIN_NAMES.join(', ')}, or a chain id`,
};

const ENVIRONMENT: Flag<Environment | undefined> = {
  value: '<name>',
  help: 'whose contracts: "production" or "staging", production unless',
  initial: undefined,
  parse: (text) => ENVIRONMENTS.find((name) => name === text),
  expected: `one of ${ENVIRONMENTS.join(', ')}`,
};

const SETTLEMENT_CONTRACT: Flag<string | undefined> = {
  value: '<address>',
  help: 'contract that orders are signed for, the known one unless',
  initial: undefined,
  parse: (text) => parseHex(text, 20),
  expected: '0x and 40 hex digits',
};

const CONFIG: Flag<string | undefined> = {
  value: '<file>',
  help: 'JSON file that says all of this, for one book or for many',
  initial: undefined,
  parse: (text) => text,
  expected: 'a file name',
  scope: 'server',
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
  alone: true,
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
  help: 'first block whose events count, with --rpc; the next one',
  initial: undefined,
  parse: (text) => wholeNumber(text, 1, Number.MAX_SAFE_INTEGER),
  expected: 'a whole number from 1 up',
};

const RETENTION: Flag<number | undefined> = {
  value: '<days>',
  help: 'days that orders are kept for after they are over, for ever unless',
  initial: undefined,
  parse: (text) => wholeNumber(text, 1, 36_500),
  expected: 'a whole number of days from 1 to 36500',
};

const METRICS_PORT: Flag<number | undefined> = {
  value: '<number>',
  help: 'port of its own for Prometheus, which reads /metrics there',
  initial: undefined,
  parse: PORT.parse,
  expected: PORT.expected,
  scope: 'server',
};

const METRICS_HOST: Flag<string | undefined> = {
  value: '<address>',
  help: 'address to listen on for Prometheus, that of --host unless',
  initial: undefined,
  parse: HOST.parse,
  expected: HOST.expected,
  scope: 'server',
};

const LOG: Flag<'text' | 'json'> = {
  value: 'text|json',
  help: 'what to print: words, or a JSON object for every request',
  initial: 'text',
  parse: (text) => (text === 'text' || text === 'json' ? text : undefined),
  expected: '"text" or "json"',
  scope: 'server',
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
  scope: 'server',
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
  scope: 'server',
};

const AFFILIATE_DOMAIN: Flag<string | undefined> = {
  value: '<name>',
  help: 'domain name that affiliate codes are signed under, "Service Affiliate" unless',
  initial: undefined,
  parse: (text) => text,
  expected: 'a name',
  scope: 'server',
};

const COIN_GECKO: Flag<{ readonly apiKey: string } | undefined> = {
  value: '<key>',
  help: 'key of CoinGecko, which is asked for prices in US dollars only when it is',
  initial: undefined,
  parse: (apiKey) => ({ apiKey }),
  expected: 'a key',
  secret: true,
  scope: 'server',
};

const EXPLORER: Flag<boolean> = {
  value: '<on|off>',
  help: 'whether browsers are shown a page to look at the orders with',
  initial: true,
  initialText: 'on',
  parse: (text) => (text === 'on' ? true : text === 'off' ? false : undefined),
  expected: '"on" or "off"',
  scope: 'server',
};

const OPERATOR_TOKEN: Flag<string | undefined> = {
  value: '<text>',
  help: 'what operators show, as Authorization: Bearer <text>; nobody is one unless',
  initial: undefined,
  parse: (text) => (/^[!-~]{16,}$/.test(text) ? text : undefined),
  expected: '16 or more letters, digits and signs, without blanks',
  secret: true,
  scope: 'server',
};

const ACCOUNTS: Flag<string | undefined> = {
  value: '<place>',
  help: 'where accounts are kept: a file, ":memory:", a PostgreSQL URL, or "off"; beside --db',
  initial: undefined,
  parse: (text) => text,
  expected: 'a file name, ":memory:", a connection string or "off"',
  secret: true,
  scope: 'server',
};

const WEBHOOK_ALLOW: Flag<readonly string[] | undefined> = {
  ...TRUSTED_PROXIES,
  help: 'private addresses that webhooks may be posted to, for testing, separated by commas',
};

const said = (value: string, help: string, expected: string, more: { readonly secret?: boolean } = {}) =>
  ({ value, help, initial: undefined, parse: (text) => text, expected, scope: 'server', ...more }) satisfies Flag<
    string | undefined
  >;

const FUNDING_CHECK: Flag<number | 'off' | undefined> = {
  value: '<seconds>',
  help: 'seconds between two looks at whether open orders can be paid for, with --rpc, or "off"; 60',
  initial: undefined,
  parse: (text) => (text === 'off' ? text : wholeNumber(text, 1, 86_400)),
  expected: 'a whole number from 1 to 86400, or "off"',
  scope: 'server',
};

const GAS_PRICE: Flag<string> = {
  value: '<wei>',
  help: 'price of one unit of gas in quotes',
  initial: DEFAULT_GAS_PRICE,
  parse: (text) => (parseDecimal(text) === undefined ? undefined : text),
  expected: 'a decimal number of wei',
};

const OLDER_THAN: Flag<number> = {
  value: '<days>',
  help: 'days for which an order must have been over',
  initial: 90,
  parse: (text) => wholeNumber(text, 1, 36_500),
  expected: 'a whole number of days from 1 up',
  scope: 'upkeep',
};

const JSON_OUTPUT: Flag<boolean> = {
  value: 'on|off',
  help: 'print the outcome as JSON; --json alone is "on"',
  initial: false,
  alone: true,
  parse: SWITCH.parse,
  expected: SWITCH.expected,
  scope: 'upkeep',
};

/** Every flag of every command. */
export const FLAGS = {
  config: CONFIG,
  port: PORT,
  host: HOST,
  chain: CHAIN,
  environment: ENVIRONMENT,
  'settlement-contract': SETTLEMENT_CONTRACT,
  db: DB,
  postgres: url('PostgreSQL database to keep the orders in, instead of a file'),
  'postgres-read': url('streaming copy of that database, to read from'),
  schema: SCHEMA,
  migrate: SWITCH,
  'max-open-orders': cap(1000, 'live orders that one owner may have'),
  'max-pending-presign': cap(100, 'orders of one owner that wait for their signature on chain'),
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
  smtp: said('<url>', 'mail server that accounts are told by: smtps://user:password@host', 'a URL', { secret: true }),
  'mail-from': said('<address>', 'who its mails are from', 'an address'),
  'public-url': said('<url>', 'where this server is reached from outside, for links in mails', 'a URL'),
  'vapid-subject': said('<url>', 'whom push services can turn to: mailto: or https:', 'a URL'),
  'vapid-public-key': said('<key>', 'key that browsers subscribe to pushes under, in base64url', 'a key'),
  'vapid-private-key': said('<key>', 'its other half', 'a key', { secret: true }),
  prices: PRICES,
  solvers: urls('engines to ask for quotes'),
  'gas-price': GAS_PRICE,
  rpc: urls('nodes to follow the chain by, the preferred one first'),
  'from-block': FROM_BLOCK,
  'older-than': OLDER_THAN,
  json: JSON_OUTPUT,
  'affiliate-rpc': { ...urls('nodes of chain 1, asked about signatures of contract wallets'), scope: 'server' },
  'affiliate-domain': AFFILIATE_DOMAIN,
  'coin-gecko': COIN_GECKO,
} as const satisfies Readonly<Record<string, Flag<unknown>>>;

export type FlagName = keyof typeof FLAGS;

export const FLAG_NAMES = Object.keys(FLAGS) as readonly FlagName[]; // the keys of the table

/** The variable of the environment that says the same. */
export function envName(flag: string): string {
  return `INTENTBOOK_${flag.replaceAll('-', '_').toUpperCase()}`;
}

function wholeNumber(text: string, least: number, most: number): number | undefined {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  return value >= least && value <= most ? value : undefined;
}

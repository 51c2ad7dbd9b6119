import * as z from 'zod';
import { CHAINS, ENVIRONMENTS, isIpRange, parseDecimal } from '#internal';
import { DEFAULT_GAS_PRICE } from '../quote-options.ts';
import { DEFAULT_RATE_LIMIT } from '../rate-limit.ts';

/** The chains of the contract by their path segments. */
export const CHAIN_NAMES: readonly string[] = CHAINS.map(({ segment }) => segment);

const ADDRESS = 'must be 0x and 40 hex digits';
const HTTP_URL = 'must be an http or https URL';
const POSITIVE = 'must be a number above 0';
const SMTP_URL = 'must be a URL: smtps://user:password@host';
const VAPID_SUBJECT = 'must be a URL of https, or mailto: and an address';
const CAP = 'must be a whole number from 1 up, or "off"';

/** What the interfaces at the root answer: those of a book and of accounts, and the server's own pages. */
const RESERVED =
  /^\/(?:api|restricted|accounts|affiliate|ref-codes|ready|live|docs|openapi\.json|explorer|\d+)(?:\/|$)/;

const text = () => z.string({ error: 'must be text' }).min(1, { error: 'must not be empty' });
const address = () => z.string({ error: ADDRESS }).regex(/^0x[0-9a-fA-F]{40}$/, { error: ADDRESS });
const cap = () => z.union([z.int({ error: CAP }).min(1, { error: CAP }), z.literal('off')], { error: CAP });
const decimal = (what: string) => text().refine((value) => parseDecimal(value) !== undefined, { error: what });
const oneOf = <const T extends readonly [string, ...string[]]>(names: T) =>
  z.enum(names, { error: `must be one of ${names.join(', ')}` });

function whole(least: number, most = Number.MAX_SAFE_INTEGER) {
  const range = most === Number.MAX_SAFE_INTEGER ? `from ${least} up` : `from ${least} to ${most}`;
  const error = `must be a whole number ${range}`;
  return z.int({ error }).min(least, { error }).max(most, { error });
}

const connection = () => {
  const error = 'must be a connection string: postgres://user:password@host:5432/database';
  return z.string({ error }).regex(/^postgres(ql)?:\/\//, { error });
};

const httpUrl = () =>
  z
    .string({ error: HTTP_URL })
    .regex(/^https?:\/\/[^/]/, { error: HTTP_URL })
    .refine((url) => URL.canParse(url), { error: HTTP_URL });

const price = () =>
  z.union(
    [
      decimal('must be a decimal number'),
      z.strictObject({ price: decimal('must be a decimal number'), decimals: whole(0, 255) }),
    ],
    { error: 'must be a decimal number as text, or { "price", "decimals" }' },
  );

/** What can be said once for all books, and again for one of them. */
const COMMON = {
  postgres: connection()
    .describe('PostgreSQL database to keep the orders in, instead of a file: a connection string.')
    .optional(),
  postgresRead: connection()
    .describe('A streaming copy of that database, to read from: a connection string.')
    .optional(),
  postgresConnections: whole(1, 1000)
    .describe(
      'Connections to PostgreSQL that a book opens at most. 10 unless given, and fewer where many books share 80.',
    )
    .optional(),
  migrate: z
    .boolean({ error: 'must be true or false' })
    .describe('Whether to bring the schema in PostgreSQL up to date first. Otherwise an older one is rejected.')
    .optional(),
  maxOpenOrders: cap()
    .describe('Live orders that one owner may have; "off" for any number. 1000 unless given.')
    .optional(),
  maxPendingPresign: cap()
    .describe(
      'Live orders of one owner that wait for their signature on chain; "off" for any number. 100 unless given.',
    )
    .optional(),
  minValidity: whole(0).describe('Seconds that an order must be valid for. 60 unless given.').optional(),
  maxValidity: whole(1).describe('Seconds that an order may be valid for. One year unless given.').optional(),
  maxAppDataSize: whole(2).describe('Bytes that an app-data document may have. 1000 unless given.').optional(),
  maxUnreferencedDocuments: whole(1)
    .describe('Uploaded documents that are kept while no order refers to them. 10000 unless given.')
    .optional(),
  retention: whole(1, 36_500)
    .describe('Days that orders are kept for after they are over, before they are removed. For ever unless given.')
    .optional(),
  appDataHash: oneOf(['accept', 'reject'])
    .describe('Whether an order may give the hash of a known document. "accept" unless given.')
    .optional(),
  eip1271: oneOf(['reject', 'accept-unverified'])
    .describe('What happens to contract signatures that no chain can check. "reject" unless given.')
    .optional(),
  deniedTokens: z
    .array(address(), { error: 'must be a list of addresses' })
    .readonly()
    .describe('Tokens that are not traded.')
    .optional(),
  solvers: z
    .array(httpUrl(), { error: 'must be a list of URLs' })
    .readonly()
    .describe('Engines to ask for quotes.')
    .optional(),
  gasPrice: decimal('must be a decimal number of wei, as text')
    .describe(`Wei for one unit of gas in quotes. "${DEFAULT_GAS_PRICE}" unless given.`)
    .optional(),
  rpc: z
    .array(httpUrl(), { error: 'must be a list of URLs' })
    .min(1, { error: 'must have a node' })
    .readonly()
    .describe(
      'Nodes of the chain, the preferred one first: the next one is asked when one fails. Without any, what needs a chain is not checked.',
    )
    .optional(),
  fromBlock: whole(1)
    .describe('The first block whose events count. The next one unless given, when nothing has been followed yet.')
    .optional(),
};

const BOOK = z.strictObject(
  {
    chain: z
      .union([z.enum(CHAIN_NAMES as [string, ...string[]]), z.int().min(1)], {
        // there are chains
        error: `must be one of ${CHAIN_NAMES.join(', ')}, or a chain id`,
      })
      .describe('The chain: its path segment, or the id of any other.')
      .default('sepolia'),
    environment: oneOf(ENVIRONMENTS)
      .describe('Whose contracts: those of production, or of staging.')
      .default('production'),
    path: z
      .string({ error: 'must be text' })
      .regex(/^\/(?:[A-Za-z0-9._~-]+(?:\/[A-Za-z0-9._~-]+)*)?$/, {
        error: 'must be "/" or a path such as "/sepolia", of letters, digits and ".", "_", "~", "-"',
      })
      .refine((path) => !RESERVED.test(path), { error: 'must not begin like a path of the server itself' })
      .describe('Where it is served. "/mainnet", "/staging/mainnet", and "/" for a chain without a name, unless given.')
      .optional(),
    db: text()
      .describe('The database file, or ":memory:". Named like the chain unless given, "mainnet.sqlite".')
      .optional(),
    schema: z
      .string({ error: 'must be text' })
      .regex(/^(?!pg_)[a-z_][a-z0-9_]{0,39}$/i, {
        error: 'must be letters, digits and "_", at most 40, not beginning with a digit or "pg_"',
      })
      .describe('The schema of its tables in PostgreSQL. Named like the chain unless given, "intentbook_mainnet".')
      .optional(),
    settlementContract: address().describe('The contract that orders are signed for.').optional(),
    vaultRelayer: address().describe('The contract that moves the sell tokens.').optional(),
    hooksTrampoline: address().describe('The contract that hooks run through.').optional(),
    wrappedNative: address().describe('The token that stands for native currency when it is sold.').optional(),
    prices: z
      .union([z.string().min(1), z.record(address(), price())], {
        error: 'must be prices by token, the name of a file with them, or "off"',
      })
      .describe('Fixed prices to quote by, a JSON file with them, or "off". On Sepolia test tokens unless given.')
      .optional(),
    usdToken: z
      .strictObject({ token: address(), decimals: whole(0, 77) }, { error: 'must be { "token", "decimals" }' })
      .describe('A token that is worth one US dollar: its price tells what others are worth in dollars.')
      .optional(),
    ...COMMON,
  },
  { error: 'must be an object' },
);

const SETTINGS = z.strictObject(
  {
    $schema: z.string().describe('For editors.').optional(),
    host: text().describe('The address to listen on; "0.0.0.0" lets other machines in.').default('127.0.0.1'),
    port: whole(0, 65535).describe('The port to listen on; 0 picks a free one.').default(8080),
    metricsPort: whole(0, 65535)
      .describe('A port of its own for Prometheus, which reads /metrics there. Needs prom-client. None unless given.')
      .optional(),
    metricsHost: text().describe('The address to listen on for Prometheus. As "host" unless given.').optional(),
    log: oneOf(['text', 'json'])
      .describe('What is printed: words for people, or a JSON object for every request, which needs pino.')
      .default('text'),
    rateLimit: z
      .union([z.literal('off'), z.strictObject({ reads: whole(1), writes: whole(1), streams: whole(1) })], {
        error: 'must be { "reads", "writes", "streams" }, or "off"',
      })
      .describe('What one client may ask for: requests a second that read and that write, and streams at once.')
      .default(DEFAULT_RATE_LIMIT),
    trustedProxies: z
      .array(text().refine(isIpRange, { error: 'must be an address or a range, as 10.0.0.0/8' }), {
        error: 'must be a list of addresses',
      })
      .readonly()
      .describe('Proxies whose X-Forwarded-For is believed: addresses or ranges.')
      .default([]),
    accounts: text()
      .describe(
        'Where accounts and their notifications are kept: a file, ":memory:", a connection string of PostgreSQL, or "off" for no account interface. Beside the file of the first book unless given; "off" where that is in PostgreSQL.',
      )
      .optional(),
    notifications: oneOf(['on', 'off'])
      .describe('Whether accounts are told what happens to their orders; else their endpoints answer 503.')
      .default('on'),
    cms: z
      .strictObject({ url: httpUrl(), apiKey: text() }, { error: 'must be { "url", "apiKey" }' })
      .describe('A content system whose notifications accounts see beside their own (CMS_BASE_URL, CMS_API_KEY).')
      .optional(),
    fundingCheck: z
      .union([whole(1, 86_400), z.literal('off')], { error: 'must be a whole number from 1 to 86400, or "off"' })
      .describe('Seconds between two looks at whether open orders can be paid for, where a book has nodes; or "off".')
      .default(60),
    webhookAllow: z
      .array(text().refine(isIpRange, { error: 'must be an address or a range, as 127.0.0.1/32' }), {
        error: 'must be a list of addresses',
      })
      .readonly()
      .describe('Private addresses that webhooks may be posted to all the same, for testing.')
      .default([]),
    telegram: z
      .strictObject({ token: text(), bot: text() }, { error: 'must be { "token", "bot" }' })
      .describe('A Telegram bot that accounts can be told by: its token and its name.')
      .optional(),
    smtp: z
      .string({ error: SMTP_URL })
      .regex(/^smtps?:\/\/[^/]/, { error: SMTP_URL })
      .refine((url) => URL.canParse(url), { error: SMTP_URL })
      .describe('A mail server that accounts can be told by, with "mailFrom" and "publicUrl". Needs nodemailer.')
      .optional(),
    mailFrom: z.email({ error: 'must be an address' }).describe('Who the mails are from.').optional(),
    publicUrl: httpUrl().describe('Where this server is reached from outside, for the links in mails.').optional(),
    vapidSubject: z
      .string({ error: VAPID_SUBJECT })
      .regex(/^(mailto:[^@\s]+@[^@\s]+|https:\/\/[^/\s]+.*)$/, { error: VAPID_SUBJECT })
      .describe('Whom push services can turn to. With the two keys, accounts can be told by web push. Needs web-push.')
      .optional(),
    vapidPublicKey: text().describe('The key that browsers subscribe to pushes under, in base64url.').optional(),
    vapidPrivateKey: text().describe('The other half of that key, in base64url.').optional(),
    explorer: z
      .boolean({ error: 'must be true or false' })
      .describe('Whether browsers are shown a page to look at the orders with.')
      .default(true),
    operatorToken: z
      .string({ error: 'must be text' })
      .regex(/^[!-~]{16,}$/, { error: 'must be 16 or more letters, digits and signs, without blanks' })
      .describe('What operators show under /restricted, as Authorization: Bearer <text>. Nobody is one unless given.')
      .optional(),
    affiliateDomain: text()
      .describe('The name of the domain that affiliate codes are signed under. "Service Affiliate" unless given.')
      .optional(),
    affiliateRpc: z
      .array(httpUrl(), { error: 'must be a list of URLs' })
      .min(1, { error: 'must have a node' })
      .readonly()
      .describe(
        'Nodes of chain 1, which are asked whether a contract wallet has signed. Those of the mainnet book unless given.',
      )
      .optional(),
    coinGecko: z
      .strictObject(
        { apiKey: text().optional(), plan: oneOf(['pro', 'demo']).optional(), url: httpUrl().optional() },
        { error: 'must be { "apiKey", "plan", "url" }' },
      )
      .describe('Prices in US dollars of CoinGecko: the key, what it is for ("pro" unless given), another address.')
      .optional(),
    usdPrices: z
      .record(
        z.string().regex(/^[1-9]\d{0,14}$/, { error: 'must be a chain id' }),
        z.record(address(), z.number({ error: POSITIVE }).positive({ error: POSITIVE })),
        { error: 'must be prices by chain id and token' },
      )
      .describe('Prices in US dollars for whole tokens that nobody else knows, by chain id and token.')
      .optional(),
    defaults: z
      .strictObject(COMMON, { error: 'must be an object' })
      .describe('What holds for every book that does not say otherwise.')
      .default({}),
    books: z
      .array(BOOK, { error: 'must be a list of books' })
      .min(1, { error: 'must name one book at least' })
      .describe('The books, each with its chain.'),
  },
  { error: 'must be an object' },
);

/** Every key of a book. */
export const BOOK_KEYS: readonly string[] = Object.keys(BOOK.shape);

/** What can be said of a book in a configuration file, and to `serve`. */
export type BookSettings = z.input<typeof BOOK>;
/** What a configuration file says. */
export type ServerSettings = z.input<typeof SETTINGS>;
/** Settings with their defaults filled in. */
export type ReadSettings = z.output<typeof SETTINGS>;
/** One book's settings, together with what holds for all. */
export type ReadBook = z.output<typeof BOOK>;

/** Fits a value into the settings, without judging what only several of them together can show. */
export function parseSettings(value: unknown): z.ZodSafeParseResult<ReadSettings> {
  return SETTINGS.safeParse(value);
}

let known: object | undefined;

/** The JSON schema of a configuration file (draft 2020-12), as it is shipped. */
export function settingsSchema(): object {
  known ??= makeSchema();
  return known;
}

function makeSchema(): object {
  const { $schema, ...schema } = z.toJSONSchema(SETTINGS, { io: 'input' });
  return { $schema, title: 'The configuration of intentbook serve', ...schema };
}

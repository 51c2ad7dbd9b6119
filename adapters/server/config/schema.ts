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
const CAP = 'must be an integer from 1 up, or "off"';

/** Paths of the interfaces and pages at the root. */
const RESERVED =
  /^\/(?:api|restricted|accounts|affiliate|ref-codes|ready|live|docs|openapi\.json|explorer|\d+)(?:\/|$)/;

const text = () => z.string({ error: 'must be text' }).min(1, { error: 'must not be empty' });
const address = () => z.string({ error: ADDRESS }).regex(/^0x[0-9a-fA-F]{40}$/, { error: ADDRESS });
const cap = () => z.union([z.int({ error: CAP }).min(1, { error: CAP }), z.literal('off')], { error: CAP });
const decimal = (expected: string) => text().refine((value) => parseDecimal(value) !== undefined, { error: expected });
const oneOf = <const T extends readonly [string, ...string[]]>(names: T) =>
  z.enum(names, { error: `must be one of ${names.join(', ')}` });

function integer(least: number, most = Number.MAX_SAFE_INTEGER) {
  const range = most === Number.MAX_SAFE_INTEGER ? `from ${least} up` : `from ${least} to ${most}`;
  const error = `must be an integer ${range}`;
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
      z.strictObject({ price: decimal('must be a decimal number'), decimals: integer(0, 255) }),
    ],
    { error: 'must be a decimal number as text, or { "price", "decimals" }' },
  );

/** Settings of a book that may also be set in `defaults`. */
const COMMON = {
  postgres: connection().describe('Connection string of a PostgreSQL database, instead of a file.').optional(),
  postgresRead: connection().describe('Connection string of a read replica of that database.').optional(),
  postgresConnections: integer(1, 1000)
    .describe('Maximum connections to PostgreSQL per book. Default: 10, fewer if many books share 80.')
    .optional(),
  migrate: z
    .boolean({ error: 'must be true or false' })
    .describe('Whether to migrate the PostgreSQL schema at start. Otherwise an older schema is rejected.')
    .optional(),
  maxOpenOrders: cap().describe('Maximum live orders per owner, or "off". Default: 1000.').optional(),
  maxPendingPresign: cap()
    .describe('Maximum orders per owner that wait for a presignature, or "off". Default: 100.')
    .optional(),
  minValidity: integer(0).describe('Minimum validity of an order in seconds. Default: 60.').optional(),
  maxValidity: integer(1).describe('Maximum validity of an order in seconds. Default: one year.').optional(),
  maxAppDataSize: integer(2).describe('Maximum size of an app-data document in bytes. Default: 1000.').optional(),
  maxUnreferencedDocuments: integer(1)
    .describe('Maximum number of documents without an order. Default: 10000.')
    .optional(),
  retention: integer(1, 36_500).describe('Days after which finished orders are deleted. Default: never.').optional(),
  appDataHash: oneOf(['accept', 'reject'])
    .describe('Whether an order may carry the hash of a known document. Default: "accept".')
    .optional(),
  eip1271: oneOf(['reject', 'accept-unverified'])
    .describe('Handling of contract signatures without a node. Default: "reject".')
    .optional(),
  deniedTokens: z
    .array(address(), { error: 'must be a list of addresses' })
    .readonly()
    .describe('Tokens that orders must not sell or buy.')
    .optional(),
  solvers: z
    .array(httpUrl(), { error: 'must be a list of URLs' })
    .readonly()
    .describe('URLs of solver engines that quote.')
    .optional(),
  gasPrice: decimal('must be a decimal number of wei, as text')
    .describe(`Gas price for quotes in wei. Default: "${DEFAULT_GAS_PRICE}".`)
    .optional(),
  rpc: z
    .array(httpUrl(), { error: 'must be a list of URLs' })
    .min(1, { error: 'must have a node' })
    .readonly()
    .describe(
      'Nodes of the chain, the preferred one first; the next is used when one fails. Without nodes, chain checks are skipped.',
    )
    .optional(),
  fromBlock: integer(1)
    .describe('First block to index, if there is no checkpoint. Default: the next block.')
    .optional(),
};

const BOOK = z.strictObject(
  {
    chain: z
      .union([z.enum(CHAIN_NAMES as [string, ...string[]]), z.int().min(1)], {
        // the list is not empty
        error: `must be one of ${CHAIN_NAMES.join(', ')}, or a chain id`,
      })
      .describe('The chain: its name, or a chain id.')
      .default('sepolia'),
    environment: oneOf(ENVIRONMENTS).describe('Deployment environment: production or staging.').default('production'),
    path: z
      .string({ error: 'must be text' })
      .regex(/^\/(?:[A-Za-z0-9._~-]+(?:\/[A-Za-z0-9._~-]+)*)?$/, {
        error: 'must be "/" or a path such as "/sepolia", of letters, digits and ".", "_", "~", "-"',
      })
      .refine((path) => !RESERVED.test(path), { error: 'must not begin with a path of the server' })
      .describe('Path of the book. Default: "/mainnet", "/staging/mainnet", or "/" for a chain without a name.')
      .optional(),
    db: text()
      .describe('Database file, or ":memory:". Default: named after the chain, such as "mainnet.sqlite".')
      .optional(),
    schema: z
      .string({ error: 'must be text' })
      .regex(/^(?!pg_)[a-z_][a-z0-9_]{0,39}$/i, {
        error: 'must be letters, digits and "_", at most 40, not beginning with a digit or "pg_"',
      })
      .describe('PostgreSQL schema. Default: named after the chain, such as "intentbook_mainnet".')
      .optional(),
    settlementContract: address().describe('Address of the settlement contract.').optional(),
    vaultRelayer: address().describe('Address of the vault relayer.').optional(),
    hooksTrampoline: address().describe('Address of the hooks trampoline.').optional(),
    wrappedNative: address().describe('Address of the wrapped native token.').optional(),
    prices: z
      .union([z.string().min(1), z.record(address(), price())], {
        error: 'must be prices by token, the name of a file with them, or "off"',
      })
      .describe(
        'Fixed prices for quotes, a JSON file with prices, or "off". Default: test tokens on Sepolia, otherwise "off".',
      )
      .optional(),
    usdToken: z
      .strictObject({ token: address(), decimals: integer(0, 77) }, { error: 'must be { "token", "decimals" }' })
      .describe('A token worth one US dollar. Prices of other tokens in dollars are derived from it.')
      .optional(),
    ...COMMON,
  },
  { error: 'must be an object' },
);

const SETTINGS = z.strictObject(
  {
    $schema: z.string().describe('Used by editors.').optional(),
    host: text().describe('Address to listen on; "0.0.0.0" for all interfaces.').default('127.0.0.1'),
    port: integer(0, 65535).describe('Port to listen on; 0 selects a free port.').default(8080),
    metricsPort: integer(0, 65535)
      .describe('Separate port for Prometheus (/metrics). Requires prom-client. Default: none.')
      .optional(),
    metricsHost: text().describe('Address of the metrics port. Default: "host".').optional(),
    log: oneOf(['text', 'json'])
      .describe('Log format: text, or one JSON object per request, which requires pino.')
      .default('text'),
    rateLimit: z
      .union([z.literal('off'), z.strictObject({ reads: integer(1), writes: integer(1), streams: integer(1) })], {
        error: 'must be { "reads", "writes", "streams" }, or "off"',
      })
      .describe('Limits per client: reads and writes per second, and open streams.')
      .default(DEFAULT_RATE_LIMIT),
    trustedProxies: z
      .array(text().refine(isIpRange, { error: 'must be an address or a range, as 10.0.0.0/8' }), {
        error: 'must be a list of addresses',
      })
      .readonly()
      .describe('Proxies whose X-Forwarded-For is trusted: addresses or ranges.')
      .default([]),
    accounts: text()
      .describe(
        'Account store: a file, ":memory:", a PostgreSQL connection string, or "off". Default: next to the file of the first book; "off" if that book is in PostgreSQL.',
      )
      .optional(),
    notifications: oneOf(['on', 'off'])
      .describe('Whether notifications are created. If "off", their routes respond 503.')
      .default('on'),
    cms: z
      .strictObject({ url: httpUrl(), apiKey: text() }, { error: 'must be { "url", "apiKey" }' })
      .describe('A content system whose announcements are listed with notifications (CMS_BASE_URL, CMS_API_KEY).')
      .optional(),
    fundingCheck: z
      .union([integer(1, 86_400), z.literal('off')], { error: 'must be an integer from 1 to 86400, or "off"' })
      .describe('Seconds between two funding checks of open orders, for books with nodes; or "off".')
      .default(60),
    webhookAllow: z
      .array(text().refine(isIpRange, { error: 'must be an address or a range, as 127.0.0.1/32' }), {
        error: 'must be a list of addresses',
      })
      .readonly()
      .describe('Private addresses that are allowed as webhook targets, for tests.')
      .default([]),
    telegram: z
      .strictObject({ token: text(), bot: text() }, { error: 'must be { "token", "bot" }' })
      .describe('A Telegram bot for notifications: its token and its name.')
      .optional(),
    smtp: z
      .string({ error: SMTP_URL })
      .regex(/^smtps?:\/\/[^/]/, { error: SMTP_URL })
      .refine((url) => URL.canParse(url), { error: SMTP_URL })
      .describe('Mail server for notifications, with "mailFrom" and "publicUrl". Requires nodemailer.')
      .optional(),
    mailFrom: z.email({ error: 'must be an address' }).describe('Sender address of mails.').optional(),
    publicUrl: httpUrl().describe('Public URL of this server, for links in mails.').optional(),
    vapidSubject: z
      .string({ error: VAPID_SUBJECT })
      .regex(/^(mailto:[^@\s]+@[^@\s]+|https:\/\/[^/\s]+.*)$/, { error: VAPID_SUBJECT })
      .describe('Contact for push services. Together with both keys it enables web push. Requires web-push.')
      .optional(),
    vapidPublicKey: text().describe('Public key of web push, in base64url.').optional(),
    vapidPrivateKey: text().describe('Private key of web push, in base64url.').optional(),
    explorer: z.boolean({ error: 'must be true or false' }).describe('Whether to serve the explorer.').default(true),
    operatorToken: z
      .string({ error: 'must be text' })
      .regex(/^[!-~]{16,}$/, { error: 'must be 16 or more letters, digits and signs, without blanks' })
      .describe(
        'Token of the routes under /restricted: Authorization: Bearer <text>. Default: those routes are closed.',
      )
      .optional(),
    affiliateDomain: text()
      .describe('EIP-712 domain name of affiliate codes. Default: "Service Affiliate".')
      .optional(),
    affiliateRpc: z
      .array(httpUrl(), { error: 'must be a list of URLs' })
      .min(1, { error: 'must have a node' })
      .readonly()
      .describe('Nodes of chain 1, for signatures of contract wallets. Default: the nodes of the mainnet book.')
      .optional(),
    coinGecko: z
      .strictObject(
        { apiKey: text().optional(), plan: oneOf(['pro', 'demo']).optional(), url: httpUrl().optional() },
        { error: 'must be { "apiKey", "plan", "url" }' },
      )
      .describe('Prices in US dollars from CoinGecko: API key, plan (default: "pro") and base URL.')
      .optional(),
    usdPrices: z
      .record(
        z.string().regex(/^[1-9]\d{0,14}$/, { error: 'must be a chain id' }),
        z.record(address(), z.number({ error: POSITIVE }).positive({ error: POSITIVE })),
        { error: 'must be prices by chain id and token' },
      )
      .describe('Fixed prices of whole tokens in US dollars, by chain id and token.')
      .optional(),
    defaults: z
      .strictObject(COMMON, { error: 'must be an object' })
      .describe('Settings of all books that do not override them.')
      .default({}),
    books: z
      .array(BOOK, { error: 'must be a list of books' })
      .min(1, { error: 'must name one book at least' })
      .describe('The books.'),
  },
  { error: 'must be an object' },
);

/** The keys of a book's settings. */
export const BOOK_KEYS: readonly string[] = Object.keys(BOOK.shape);

/** Settings of a book, in a configuration file and for `serve`. */
export type BookSettings = z.input<typeof BOOK>;
/** The content of a configuration file. */
export type ServerSettings = z.input<typeof SETTINGS>;
/** Parsed settings, with defaults. */
export type ReadSettings = z.output<typeof SETTINGS>;
/** Parsed settings of a book. */
export type ReadBook = z.output<typeof BOOK>;

/** Parses settings. Rules that concern several settings are checked later, in `planServer`. */
export function parseSettings(value: unknown): z.ZodSafeParseResult<ReadSettings> {
  return SETTINGS.safeParse(value);
}

let cachedSchema: object | undefined;

/** Returns the JSON schema of a configuration file (draft 2020-12). */
export function settingsSchema(): object {
  cachedSchema ??= createSchema();
  return cachedSchema;
}

function createSchema(): object {
  const { $schema, ...schema } = z.toJSONSchema(SETTINGS, { io: 'input' });
  return { $schema, title: 'The configuration of intentbook serve', ...schema };
}

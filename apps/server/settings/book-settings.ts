import * as z from 'zod';
import { ENVIRONMENTS, PAIR_POLICIES, PROFILES, RULE_VALUES } from '#internal';
import { DEFAULT_GAS_PRICE } from '../books/quote-options.ts';
import { chain } from './chain-name.ts';
import { CHAIN_SETTINGS } from './chain-settings.ts';
import { DRIVER_SETTINGS } from './driver-settings.ts';
import { FEE_SETTINGS } from './fee-settings.ts';
import { RETENTION_SETTINGS } from './retention-settings.ts';
import { inGroup, type SettingTable } from './setting.ts';
import { STREAM_SETTINGS } from './stream-settings.ts';
import {
  accountNames,
  addresses,
  addressesOrFile,
  addressSetting,
  connection,
  decimalSetting,
  enumSetting,
  fileSetting,
  httpUrl,
  httpUrls,
  integerOrOff,
  integerSetting,
  matching,
  objectSetting,
  onOff,
  onOffAlone,
  ownerLimits,
  price,
  tokenLogos,
} from './types.ts';
import { UPSTREAM_SETTINGS } from './upstream-settings.ts';

/** Paths of the interfaces and pages at the root. */
const RESERVED =
  /^\/(?:api|restricted|about|accounts|affiliate|hooks|proxies|twap|ref-codes|ready|live|docs|openapi\.json|explorer|\d+)(?:\/|$)/;

function path() {
  const type = matching(
    /^(?!.*\/\.{1,2}(?:\/|$))\/(?:[A-Za-z0-9._~-]+(?:\/[A-Za-z0-9._~-]+)*)?$/, // clients remove "." and ".."
    '<path>',
    '"/" or a path such as "/sepolia", of letters, digits and ".", "_", "~", "-"',
  );
  const error = 'must not begin with a path of the server';
  return { ...type, schema: type.schema.refine((given) => !RESERVED.test(given), { error }) };
}

function prices() {
  const expected = 'prices by token, the name of a file with them, or "off"';
  const schema = z.union([z.literal('off'), fileSetting(expected).schema, z.record(addressSetting().schema, price())], {
    error: `must be ${expected}`,
  });
  return { schema, value: '<file>', expected: 'a file name, or "off"', fromText: (file: string) => file };
}

export const BOOK_SETTINGS = {
  ...inGroup('Book', {
    chain: {
      type: chain(),
      help: 'Chain: the name of its path segment, an alias such as `gnosis`, or a chain id.',
      default: 'sepolia',
      common: true,
    },
    environment: {
      type: enumSetting(...ENVIRONMENTS),
      help: 'Deployment of the contracts: `production` or `staging`.',
      default: 'production',
    },
    path: {
      type: path(),
      help: 'Path of the book.',
      defaultText: '`/`; in a configuration file `/mainnet`, `/staging/mainnet`, or `/` for a chain without a name',
      single: '/',
    },
    settlementContract: {
      type: addressSetting(),
      help: 'Settlement contract that orders are signed for.',
      defaultText: 'the known contract',
    },
    vaultRelayer: {
      type: addressSetting(),
      help: 'Contract that transfers the sell tokens.',
      defaultText: 'the known contract',
    },
    hooksTrampoline: {
      type: addressSetting(),
      help: 'Contract that executes hooks.',
      defaultText: 'the known contract',
    },
    wrappedNative: { type: addressSetting(), help: 'Wrapped native token.', defaultText: 'the known token' },
    onchainOrderContracts: {
      type: addresses(),
      help: 'Contracts that place orders on chain, such as native-currency-flow contracts.',
      defaultText: 'the known contract',
      requires: 'rpc',
    },
  }),
  ...inGroup('Store', {
    db: {
      type: fileSetting('a file name, or ":memory:" (a connection string belongs to "postgres")'),
      help: 'SQLite file, created if it is missing. `:memory:` keeps the data in memory until the process ends.',
      defaultText: '`intentbook.sqlite`; in a configuration file the name of the chain, such as `mainnet.sqlite`',
      single: 'intentbook.sqlite',
      notEmpty: true,
      common: true,
    },
    dbThread: {
      type: onOff(),
      help: 'Whether a thread writes to the SQLite file, so that requests do not wait for commits of others.',
      defaultText: '`on` with more than one processor',
    },
    schema: {
      type: matching(
        /^(?!pg_)[a-z_][a-z0-9_]{0,39}$/i,
        '<name>',
        'letters, digits and "_", at most 40, not beginning with a digit or "pg_"',
      ),
      help: 'PostgreSQL schema of the tables.',
      defaultText: '`intentbook`; in a configuration file the name of the chain, such as `intentbook_mainnet`',
      single: 'intentbook',
      requires: 'postgres',
    },
  }),
  ...inGroup('Quotes', {
    prices: {
      type: prices(),
      help: 'Fixed prices for quotes, the name of a JSON file with them, or `off`.',
      defaultText: 'test tokens on Sepolia, otherwise `off`',
      common: true,
    },
  }),
  ...inGroup('Prices in US dollars', {
    poolFactory: {
      type: addressSetting(),
      help: 'Uniswap V2 factory whose pairs are served as pools. Has an effect on books with `rpc`.',
      defaultText: 'that of Uniswap on mainnet, none elsewhere',
    },
    poolTokens: {
      type: addresses(),
      help: 'Tokens whose pairs are served as pools, besides wrapped native currency and `usdToken`.',
      defaultText: 'none',
    },
    tokenHoldersUrl: {
      type: matching(
        /^https?:\/\/[^/?#@\s]+\/\S*\{token\}\S*$/,
        '<url>',
        'an http or https URL with {token}, without a user name and a password',
      ),
      help: 'URL of the largest holders of a token, with `{token}`: of a Blockscout explorer, or a JSON list.',
      defaultText: 'none; the endpoint returns 503',
    },
    tokenBalancesUrl: {
      type: httpUrl(),
      help: 'URL of a node with `alchemy_getTokenBalances`, for the balances of accounts in all tokens.',
      defaultText: 'none; the endpoint returns 503',
      secret: true,
    },
    usdToken: {
      type: objectSetting({
        token: {
          type: addressSetting(),
          help: 'Token that is worth one US dollar. Prices of other tokens derive from it.',
          flag: 'usd-token',
        },
        decimals: { type: integerSetting(0, 77), help: 'Decimals of that token.' },
      }),
      help: 'Token that is worth one US dollar: `{ "token", "decimals" }`. Prices of other tokens derive from it.',
    },
  }),
} as const satisfies SettingTable;

/** The settings of a book that can also be set in `defaults`. */
export const COMMON_SETTINGS = {
  ...inGroup('Store', {
    postgres: {
      type: connection(),
      help: 'PostgreSQL connection string; replaces the file.',
      secret: true,
      notEmpty: true,
      common: true,
    },
    postgresRead: {
      type: connection(),
      help: 'PostgreSQL connection string of a streaming replica for reads.',
      secret: true,
      requires: 'postgres',
    },
    postgresConnections: {
      type: integerSetting(2, 1000),
      help: 'Maximum number of connections to the database, which all books in it share.',
      default: 10,
      requires: 'postgres',
    },
    postgresPooler: {
      type: enumSetting('detect', 'transaction', 'session'),
      help:
        'Pooler in front of PostgreSQL. `transaction`: no prepared statements and no listening connection. ' +
        '`session`: both.',
      defaultText: '`detect`: `transaction` behind a pooler, otherwise `session`',
      requires: 'postgres',
    },
    migrate: {
      type: onOffAlone(),
      help: 'Whether the server updates the PostgreSQL schema at start. Otherwise an older schema is rejected.',
      default: false,
      requires: 'postgres',
      common: true,
    },
  }),
  ...RETENTION_SETTINGS,
  ...inGroup('Store', {
    cacheBytes: {
      type: integerSetting(0, Number.MAX_SAFE_INTEGER, '<bytes>'),
      help: 'Size of the cache of rendered orders in bytes; 0 disables it. Used with SQLite only.',
      default: 32 * 1024 * 1024,
    },
  }),
  ...inGroup('Orders', {
    profile: {
      type: enumSetting(...PROFILES),
      help: 'Rules of the book: those of the `specification`, or of the `production` order book.',
      default: 'specification',
      common: true,
    },
    errorCodes: {
      type: enumSetting(...RULE_VALUES.codes),
      help: 'Codes and statuses of rejections.',
      defaultText: 'by profile',
    },
    balanceRule: {
      type: enumSetting(...RULE_VALUES.balance),
      help: 'Required balance: the sell amount (`full`), or one atom or a sufficient allowance (`minimum`).',
      defaultText: '`full`; `minimum` in the profile `production`',
    },
    vaultBalances: {
      type: enumSetting(...RULE_VALUES.vaultBalances),
      help: 'Orders with balances of the vault: `accept` or `reject`.',
      defaultText: '`accept`; `reject` in the profile `production`',
    },
    sameToken: {
      type: enumSetting(...PAIR_POLICIES),
      help: 'Orders whose sell and buy token are the same: `reject`, `sell` (sell orders only) or `accept`.',
      default: 'reject',
    },
    wrappedToNative: {
      type: enumSetting(...PAIR_POLICIES),
      help: 'Orders that sell wrapped native for native currency: `reject`, `sell` (sell orders only) or `accept`.',
      default: 'reject',
    },
    maxOrderGas: {
      type: integerSetting(0, Number.MAX_SAFE_INTEGER, '<gas>'),
      help: 'Maximum gas of the hooks and the contract signature of an order.',
      default: 8_000_000,
    },
    maxOpenOrders: {
      type: integerOrOff(1),
      help: 'Maximum number of signed, live orders of one owner, or `off`.',
      default: 1000,
      common: true,
    },
    ownerLimits: {
      type: ownerLimits(),
      help: 'Limits of single owners, such as market makers: `{ "<address>": { "maxOpenOrders", "maxPendingOrders" } }`. `null`: no limit.',
      flag: null,
      defaultText: 'the general limits',
    },
    maxPendingPresign: {
      type: integerOrOff(1),
      help: 'Maximum number of live orders of one owner or client without a signature on chain, or `off`.',
      default: 100,
    },
    maxPendingValidity: {
      type: integerOrOff(1),
      help: 'Seconds that an order waits for its signature on chain before it is expired, or `off`.',
      default: 86_400,
    },
    minValidity: {
      type: integerSetting(0, Number.MAX_SAFE_INTEGER, '<seconds>'),
      help: 'Minimum remaining validity of an order, in seconds.',
      default: 60,
    },
    maxValidity: {
      type: integerSetting(1, Number.MAX_SAFE_INTEGER, '<seconds>'),
      help: 'Maximum remaining validity of an order, in seconds.',
      default: 31_536_000,
    },
    maxAppDataSize: {
      type: integerSetting(2, Number.MAX_SAFE_INTEGER, '<bytes>'),
      help: 'Maximum size of an app-data document, in bytes. Documents with hooks or bridging need about `8192`.',
      defaultText: '`1000`; `8192` in the profile `production`',
    },
    maxUnreferencedDocuments: {
      type: integerSetting(1),
      help: 'Uploaded documents that are kept while no order refers to them.',
      default: 10_000,
    },
    appDataHash: {
      type: enumSetting('accept', 'reject'),
      help: 'Orders that give only the hash of a stored document: `accept` or `reject`.',
      default: 'accept',
    },
    eip1271: {
      type: enumSetting('reject', 'accept-unverified'),
      help: 'Contract signatures without `rpc`: `reject` or `accept-unverified`.',
      default: 'reject',
    },
    deniedAddresses: {
      type: addressesOrFile(),
      help: 'Owners and receivers whose orders are rejected: a list, or a file with an address per line. A changed file is read again.',
      defaultText: 'none',
      notEmpty: true,
    },
    deniedTokens: {
      type: addressesOrFile(),
      help: 'Tokens that the book does not accept: a list, or a file with an address per line. A changed file is read again.',
      defaultText: 'none',
      notEmpty: true,
    },
    ipfsGateway: {
      type: httpUrl(),
      help: 'IPFS gateway for app-data documents that orders name by hash, such as `https://ipfs.io`.',
      defaultText: 'none',
      secret: true,
    },
    accountNames: {
      type: accountNames(),
      help: 'Names of accounts that the explorer shows, such as solvers: `{ "<address>": "<name>" }`.',
      flag: null,
      defaultText: 'none',
    },
    tokenLogos: {
      type: tokenLogos(),
      help: 'Logos that the explorer shows: `{ "<token>": "data:image/png;base64,…" }`.',
      flag: null,
      defaultText: 'none',
    },
    hideCompetitions: {
      type: onOffAlone(),
      help: 'Whether the public routes of competitions show one only after its deadline block. The status of an order is not affected.',
      default: false,
    },
    auctionMinValidity: {
      type: integerSetting(0, Number.MAX_SAFE_INTEGER, '<seconds>'),
      help: 'Time that an order must remain valid to be in an auction, in seconds.',
      default: 60,
    },
    surplusCapturingJitOrderOwners: {
      type: addresses(),
      help: 'Accounts whose just-in-time orders count for the scores of solvers, such as pools of the protocol.',
      default: [],
      defaultText: 'none',
    },
    maxSignatureChecks: {
      type: integerSetting(0, 10_000, '<count>'),
      help: 'Number of open orders with a contract signature that are checked again for each auction. `0`: none.',
      default: 20,
    },
  }),
  ...DRIVER_SETTINGS,
  ...CHAIN_SETTINGS,
  ...inGroup('Quotes', {
    solvers: { type: httpUrls(), help: 'URLs of external solvers for quotes.', secret: true, common: true },
    orderQuoteTimeout: {
      type: integerSetting(0, 60_000, '<milliseconds>'),
      help: 'Time for the quote of an order that is submitted without a matching one, in milliseconds; 0: it has none.',
      default: 1000,
    },
    verifyQuotes: {
      type: onOffAlone(),
      help: 'Whether the settlement of each quote is simulated on the node.',
      default: false,
      requires: 'rpc',
    },
    vaultPrices: {
      type: onOffAlone(),
      help: 'Whether the native price of a share of a vault (EIP-4626) is that of its assets.',
      default: false,
      requires: 'rpc',
    },
    minUnverifiedGas: {
      type: integerSetting(0, 0xffff_ffff, '<gas>'),
      help: 'Least gas of a quote that is not verified, in units. A lower claim of a solver counts as this.',
      default: 0,
    },
    maxUnverifiedGas: {
      type: integerSetting(1, 0xffff_ffff, '<gas>'),
      help: 'Most gas of a quote that is not verified, in units. A higher claim of a solver counts as this.',
      default: 0xffff_ffff,
    },
    gasPrice: {
      type: decimalSetting('<wei>', 'a decimal number of wei'),
      help: 'Gas price for quotes, in wei.',
      default: DEFAULT_GAS_PRICE,
    },
  }),
  ...FEE_SETTINGS,
  ...UPSTREAM_SETTINGS,
  ...STREAM_SETTINGS,
} as const satisfies SettingTable;

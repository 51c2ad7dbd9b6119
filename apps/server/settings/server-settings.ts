import { DEFAULT_RATE_LIMIT } from '../http/rate-limit.ts';
import { affiliateTerms, affiliateTermsByCode, statisticsSource } from './affiliate-terms.ts';
import { apiKeys } from './api-keys.ts';
import { passthroughs } from './passthroughs.ts';
import { inGroup, type SettingTable } from './setting.ts';
import {
  baseUrl,
  email,
  enumSetting,
  fileSetting,
  httpUrls,
  integerOrOff,
  integerSetting,
  ipRanges,
  matching,
  objectSetting,
  onOff,
  partialSetting,
  plainHttpUrl,
  plainTextSetting,
  rateLimit,
  storeLocation,
  url,
} from './types.ts';
import { usdPrices } from './usd-prices.ts';

const PORT = integerSetting(0, 65_535);
const HOST = plainTextSetting('<address>', 'an address of this machine');

/** The settings of a server: the top level of a configuration file. */
export const SERVER_SETTINGS = {
  ...inGroup('Server', {
    port: { type: PORT, help: 'Port to listen on; 0 selects a free port.', default: 8080, common: true },
    host: {
      type: HOST,
      help: 'Address to listen on; `0.0.0.0` accepts connections of other machines. A path with a slash is a socket file.',
      default: '127.0.0.1',
      common: true,
    },
    publicUrl: {
      type: baseUrl(),
      help: 'Public URL of this server, for links in mails and as the audience of signatures that list subscriptions.',
    },
    explorer: { type: onOff(), help: 'Whether browsers see the explorer.', default: true, common: true },
    rateLimit: {
      type: rateLimit(),
      help: 'Reads per second, writes per second and open streams of one client, or `off`.',
      default: DEFAULT_RATE_LIMIT,
      common: true,
    },
    apiKeys: {
      type: apiKeys(),
      help: 'API keys of clients with budgets of their own: `{ "name", "hash", "reads", "writes", "streams" }`.',
      flag: null,
      default: [],
      defaultText: 'none',
    },
    trustedProxies: {
      type: ipRanges(),
      help: 'Addresses or ranges of proxies whose `X-Forwarded-For` is used.',
      default: [],
      defaultText: 'none',
      common: true,
    },
    lameduck: {
      type: integerSetting(0, 3600, '<seconds>'),
      help: 'Seconds after a stop signal in which `/ready` is false and requests are still served.',
      default: 0,
    },
    operatorToken: {
      type: matching(/^[!-~]{16,}$/, '<text>', '16 or more letters, digits and signs, without blanks'),
      help: 'Token of the paths below `/restricted`: `Authorization: Bearer <token>`. At least 16 characters.',
      defaultText: 'no access',
      secret: true,
      notEmpty: true,
      common: true,
    },
  }),
  ...inGroup('Store', {
    leaseWait: {
      type: integerSetting(0, 3600, '<seconds>'),
      help: 'Seconds to wait for the writer lease of an SQLite file, which a container that was killed leaves behind.',
      default: 10,
    },
  }),
  ...inGroup('Logs and metrics', {
    log: {
      type: enumSetting('text', 'json'),
      help: 'Log format: `text` for a terminal, or `json` with an object per request, which requires the package `pino`. Other commands write an audit line if it is given.',
      default: 'text',
      common: true,
    },
    metricsPort: {
      type: PORT,
      help: 'Separate port for Prometheus metrics at `/metrics`.',
      packages: ['prom-client'],
      defaultText: 'no metrics',
      common: true,
    },
    metricsHost: { type: HOST, help: 'Address to listen on for Prometheus.', defaultText: 'the address of `host`' },
  }),
  ...inGroup('Accounts', {
    accounts: {
      type: storeLocation(),
      help: 'Account store: a file, `:memory:`, a PostgreSQL connection string, or `off`.',
      defaultText: 'next to the file of the first book; `off` if that book is in PostgreSQL',
      secret: true,
      notEmpty: true,
      common: true,
    },
    affiliateDomain: {
      type: plainTextSetting('<name>', 'a name'),
      help: 'Name of the EIP-712 domain of affiliate codes.',
      defaultText: '`Service Affiliate`; `CoW Swap Affiliate` if all books have the profile `production`',
    },
    affiliateRpc: {
      type: httpUrls(),
      help: 'Nodes of chain 1, for signatures of contract wallets.',
      defaultText: 'the nodes of the mainnet book',
      secret: true,
      packages: ['viem'],
    },
    affiliateTerms: {
      type: affiliateTerms(),
      help: 'Terms of the affiliate programme, shown with each code.',
      flag: null,
      defaultText: 'no terms',
    },
    affiliateTermsByCode: {
      type: affiliateTermsByCode(),
      help: 'Terms of single affiliate codes, by code.',
      flag: null,
      defaultText: '`affiliateTerms` for every code',
    },
    affiliatePayouts: {
      type: fileSetting(),
      help: 'File of payouts: address, role and US dollars in each line. It is read again when it has changed and stayed the same for a second.',
      defaultText: 'no payouts',
    },
    affiliateStatistics: {
      type: statisticsSource(),
      help:
        'Statistics of affiliates and traders: `own`, computed from the trades of the books, which requires ' +
        '`affiliateTerms` in the configuration file, or the URL of a service.',
      defaultText: 'none; the statistics endpoints return 503',
    },
  }),
  ...inGroup('Accounts', {
    passthroughs: {
      type: passthroughs(),
      help:
        'Other services that the server passes requests on to, by path: `/hooks`, `/twap`, or `/proxies/<name>`. ' +
        'Each has `{ "url", "allow", "methods", "headers", "origins", "maxAge" }`; other paths of it are rejected.',
      flag: null,
      default: {},
      defaultText: 'none',
      secret: true,
    },
  }),
  ...inGroup('Notifications', {
    notifications: {
      type: enumSetting('on', 'off'),
      help: 'Whether notifications are created and served. If `off`, their endpoints return 503.',
      default: 'on',
    },
    revertedNotifications: {
      type: enumSetting('on', 'off'),
      help: 'Whether fills and cancellations that a reorganisation has reverted are notified as `order_reverted`.',
      default: 'off',
    },
    fundingCheck: {
      type: integerOrOff(1, 86_400, '<seconds>'),
      help: 'Seconds between two checks of the funds of open orders, or `off`. Has an effect on books with `rpc`.',
      default: 60,
    },
    retentionNotifications: {
      type: integerSetting(1, 36_500, '<days>', 'a number of days'),
      help: 'Days after which notifications are deleted, with their deliveries.',
      defaultText: 'never',
    },
    webhookAllow: {
      type: ipRanges(),
      help: 'Private addresses or ranges to which webhooks may be sent, for tests.',
      default: [],
      defaultText: 'none',
    },
    telegram: {
      type: objectSetting({
        token: {
          type: plainTextSetting('<token>', 'the token of a bot'),
          help: 'Token of the Telegram bot.',
          secret: true,
        },
        bot: { type: plainTextSetting('<name>', 'the name of a bot'), help: 'Name of the Telegram bot.' },
      }),
      help: 'Telegram bot for notifications: `{ "token", "bot" }`.',
    },
    smtp: {
      type: url(/^smtps?:\/\/[^/]/, 'a URL: smtps://user:password@host'),
      help: 'Mail server for notifications.',
      secret: true,
      packages: ['nodemailer'],
      together: ['mailFrom', 'publicUrl'],
    },
    mailFrom: { type: email(), help: 'Sender address of mails.', together: ['smtp', 'publicUrl'] },
    vapidSubject: {
      type: matching(
        /^(mailto:[^@\s]+@[^@\s]+|https:\/\/[^/\s]+.*)$/,
        '<url>',
        'an https URL, or mailto: and an address',
      ),
      help: 'Contact for push services, a `mailto:` or `https:` URL. With both keys, it enables web push.',
      packages: ['web-push'],
      together: ['vapidPublicKey', 'vapidPrivateKey'],
    },
    vapidPublicKey: {
      type: plainTextSetting('<key>', 'a key'),
      help: 'Public VAPID key, in base64url.',
      together: ['vapidSubject', 'vapidPrivateKey'],
    },
    vapidPrivateKey: {
      type: plainTextSetting('<key>', 'a key'),
      help: 'Private VAPID key, in base64url.',
      secret: true,
      together: ['vapidSubject', 'vapidPublicKey'],
    },
    cms: {
      type: objectSetting({
        url: { type: plainHttpUrl(), help: 'URL of the content system.', variable: 'CMS_BASE_URL' },
        apiKey: {
          type: plainTextSetting('<key>', 'a key'),
          help: 'Key of the content system.',
          secret: true,
          variable: 'CMS_API_KEY',
        },
      }),
      help: 'Content system whose items appear in notification lists: `{ "url", "apiKey" }`.',
    },
  }),
  ...inGroup('Prices in US dollars', {
    coinGecko: {
      type: partialSetting({
        apiKey: {
          type: plainTextSetting('<key>', 'a key'),
          help: 'Key of the CoinGecko API.',
          flag: 'coin-gecko',
          secret: true,
        },
        plan: {
          type: enumSetting('pro', 'demo'),
          help: 'Plan of the CoinGecko key: `pro` or `demo`.',
          defaultText: '`pro`',
        },
        url: { type: plainHttpUrl(), help: 'Base URL of the CoinGecko API.' },
      }),
      help: 'Prices of CoinGecko: `{ "apiKey", "plan", "url" }`.',
    },
    poolsUrl: {
      type: plainHttpUrl(),
      help: 'URL of a JSON document with liquidity pools by chain id.',
      defaultText: 'none; the pool endpoints return 503',
    },
    tenderly: {
      type: objectSetting({
        apiKey: { type: plainTextSetting('<key>', 'a key'), help: 'Key of the Tenderly API.', secret: true },
        account: { type: plainTextSetting('<name>', 'a name'), help: 'Account or organisation on Tenderly.' },
        project: { type: plainTextSetting('<name>', 'a name'), help: 'Project on Tenderly.' },
      }),
      help: 'Simulations on Tenderly instead of the nodes of the books: `{ "apiKey", "account", "project" }`.',
    },
    defaultSlippage: {
      type: integerSetting(0, 10_000, '<bps>'),
      help: 'Suggested slippage tolerance of pairs with unknown volatility, in basis points.',
      default: 50,
    },
    usdPrices: {
      type: usdPrices(),
      help: 'Fixed prices in US dollars per whole token, by chain id and token.',
      flag: null,
    },
  }),
} as const satisfies SettingTable;

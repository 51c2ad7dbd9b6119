import type { AccountBook, SourceBook } from '../account-tools/account-books.ts';
import type { TokenLookup } from '../account-tools/token-labels.ts';
import type { AffiliatesOptions } from '../affiliates/index.ts';
import type { RecoveryBackendOption } from '../crypto/recovery.ts';
import type { StreamLimits } from '../limits/index.ts';
import type { SlippageOptions, UsdPricesOptions } from '../market/index.ts';
import type { DeliveryOptions } from '../notifications/index.ts';
import type { AccountStore } from '../ports/account-store.ts';
import type { AnnouncementSource } from '../ports/announcements.ts';
import type { BundleSimulator } from '../ports/bundle-simulation.ts';
import type { ChainClient } from '../ports/chain-client.ts';
import type { Channel } from '../ports/channel.ts';
import type { Clock } from '../ports/clock.ts';
import type { PoolSource } from '../ports/pools.ts';
import type { Random } from '../ports/random.ts';
import type { TokenBalanceSource } from '../ports/token-balances.ts';
import type { TokenHolderSource } from '../ports/token-holders.ts';
import { assertKnownOptions, requireInteger } from '../validation/options.ts';

/** Options of the account interface. */
export interface AccountsOptions {
  /**
   * The books whose orders produce notifications. Each may have an environment name, if its settlement contract does
   * not determine it.
   */
  readonly books: readonly (SourceBook | AccountBook)[];
  /** The store of notifications, subscriptions and affiliate codes. One store serves one account interface. */
  readonly store: AccountStore;
  /** Whether notifications are created and served. If `off`, their endpoints respond with 503. Default: `on`. */
  readonly notifications?: 'on' | 'off';
  /**
   * Whether a fill or a cancellation that a reorganisation has reverted is notified as `order_reverted`, and again if
   * it is restored later. Clients that know the six types of the contract only need `off`. Default: `off`.
   */
  readonly revertedNotifications?: 'on' | 'off';
  /**
   * Interval in milliseconds between two checks of whether the open orders of a book with a chain are funded, or `off`.
   * An account is notified if two consecutive checks find an order unfunded. Default: 60000.
   */
  readonly fundingInterval?: number | 'off';
  /** Source of additional list entries from a content system. Default: none. */
  readonly announcements?: AnnouncementSource;
  /**
   * Returns decimals and symbols of tokens for messages. Tokens that it does not return are common tokens of the chain,
   * then those of books with a chain client, whose symbol is followed by the address. Amounts of others are in atoms.
   * Default: none.
   */
  readonly tokens?: TokenLookup;
  /** Buffer limits of notification streams. */
  readonly streams?: StreamLimits;
  /** The channels for deliveries. Default: none, and subscriptions are rejected. */
  readonly channels?: readonly Channel[];
  /**
   * Days that notifications are kept, with their deliveries and their entries of the account log. Older ones are
   * deleted in bounded steps, once an hour. Default: they are never deleted.
   */
  readonly retention?: number;
  /** Retry options of deliveries. */
  readonly deliveries?: DeliveryOptions;
  /** Maximum number of subscriptions per account. Default: 20. */
  readonly maxSubscriptions?: number;
  /** Maximum number of invitations that a channel sends in a day, such as confirmation mails. Default: 1000. */
  readonly maxInvitations?: number;
  /**
   * Host of this API, such as `api.example.org`. A signature that lists subscriptions names it, so that another
   * deployment cannot use it. Default: `affiliates.domainName`, or its default.
   */
  readonly audience?: string;
  /** Affiliate codes: their signing domain, terms, and source of statistics. */
  readonly affiliates?: AffiliatesOptions;
  /** Sources of prices in US dollars. Default: none. */
  readonly usdPrices?: UsdPricesOptions;
  /** Sources of the largest holders of tokens. Default: none, and their route responds with 503. */
  readonly tokenHolders?: readonly TokenHolderSource[];
  /** Sources of the balances of an account in all tokens. Default: none, and their route responds with 503. */
  readonly tokenBalances?: readonly TokenBalanceSource[];
  /** Simulators of bundles by chain id. Default: none, and simulations respond with 503. */
  readonly simulators?: Readonly<Record<number, BundleSimulator>>;
  /** Sources of liquidity pools. Default: none, and their routes respond with 503. */
  readonly pools?: readonly PoolSource[];
  /** Suggested slippage tolerance: histories of prices, and the default. */
  readonly slippage?: SlippageOptions;
  /**
   * The client of chain 1, which checks signatures of contract wallets (EIP-1271) for all chains. Default: none, and
   * requests of contract wallets get status 503.
   */
  readonly mainnet?: Pick<ChainClient, 'isValidSignature'>;
  /** Time limit for chain 1 and for sources of statistics, in milliseconds. Default: 5000. */
  readonly timeout?: number;
  /** Interval between two reads of a watched account's balances, in milliseconds. Default: 5000. */
  readonly balanceInterval?: number;
  /** Backend for public key recovery, as in `createOrderBook`. */
  readonly recovery?: RecoveryBackendOption;
  /** Called with failures for which no caller waits. */
  readonly onFailure?: (failure: unknown) => void;
  /** The source of time. Default: the system clock. */
  readonly clock?: Clock;
  /** The source of tokens, keys and the spread of retries. Default: the randomness of the machine. */
  readonly random?: Random;
}

/** The names of all options. */
export const ACCOUNTS_OPTIONS = [
  'books',
  'store',
  'notifications',
  'revertedNotifications',
  'fundingInterval',
  'announcements',
  'tokens',
  'streams',
  'channels',
  'retention',
  'deliveries',
  'maxSubscriptions',
  'maxInvitations',
  'audience',
  'affiliates',
  'usdPrices',
  'tokenHolders',
  'tokenBalances',
  'simulators',
  'pools',
  'slippage',
  'mainnet',
  'timeout',
  'balanceInterval',
  'recovery',
  'onFailure',
  'clock',
  'random',
] as const satisfies readonly (keyof AccountsOptions)[];

/** Parses the options of deliveries. A store may keep their times as integers. */
export function parseDeliveries(options: DeliveryOptions, timeout: number): Required<DeliveryOptions> {
  assertKnownOptions('createAccounts, deliveries', options, ['attempts', 'retryDelay', 'maxRetryDelay', 'timeout']);
  return {
    attempts: requireInteger('createAccounts: deliveries.attempts', options.attempts ?? 45),
    retryDelay: requireInteger('createAccounts: deliveries.retryDelay', options.retryDelay ?? 1_000),
    maxRetryDelay: requireInteger('createAccounts: deliveries.maxRetryDelay', options.maxRetryDelay ?? 3_600_000),
    timeout: requireInteger('createAccounts: deliveries.timeout', options.timeout ?? timeout),
  };
}

/** Converts days to milliseconds. */
export function parseAccountRetention(days: number | undefined): number | undefined {
  if (days === undefined) return undefined;
  const milliseconds = Math.ceil(days * 86_400_000);
  if (Number.isSafeInteger(milliseconds) && milliseconds > 0) return milliseconds;
  throw new TypeError(`createAccounts: retention must be a positive number of days, got ${days}`);
}

import { withDeadline } from '../concurrency/deadline.ts';
import { mapAsync } from '../concurrency/map-async.ts';
import type { RecoveryBackendOption } from '../crypto/recovery.ts';
import type { OrderBook, Readiness } from '../order-book.ts';
import type { AccountStore } from '../ports/account-store.ts';
import type { Announcement, AnnouncementSource } from '../ports/announcements.ts';
import type { ChainClient } from '../ports/chain-client.ts';
import type { Channel } from '../ports/channel.ts';
import type { Clock } from '../ports/clock.ts';
import { systemClock } from '../ports/clock.ts';
import type { Delivery, DeliveryCounts, DeliveryState } from '../ports/delivery-store.ts';
import { StoreError } from '../ports/store.ts';
import { chainById } from '../protocol/chains.ts';
import type { Address } from '../protocol/hex.ts';
import { createStreamBroadcaster } from '../streams/broadcaster.ts';
import type { Stream, StreamOptions } from '../streams/stream.ts';
import type { StreamLimits } from '../streams/stream-limits.ts';
import { parseStreamLimits } from '../streams/stream-limits.ts';
import { assertKnownOptions } from '../validation/options.ts';
import type { AccountBalances } from './account-balances.ts';
import { createAccountBalances } from './account-balances.ts';
import type { AccountBook, KnownBook } from './account-books.ts';
import { readBooks } from './account-books.ts';
import { AccountError } from './account-error.ts';
import type { AffiliateApi, AffiliatesOptions } from './affiliates.ts';
import { createAffiliates } from './affiliates.ts';
import type { DeliveryOptions } from './delivery-dispatcher.ts';
import { createDeliveryDispatcher } from './delivery-dispatcher.ts';
import { createFundingCheck } from './funding-check.ts';
import type { Notification } from './notification.ts';
import { createNotificationIndexer } from './notification-indexer.ts';
import type { NotificationPage, NotificationQuery, RenderedNotifications } from './notification-list.ts';
import { listNotifications, requireAccount } from './notification-list.ts';
import type { TokenLookup } from './notification-messages.ts';
import type { NotificationStreamEvent } from './notification-stream.ts';
import { createNotificationLog, toNotificationStreamEvent } from './notification-stream.ts';
import type { SubscriptionApi } from './subscriptions.ts';
import { createSubscriptions, hashToken } from './subscriptions.ts';
import type { UsdPriceApi, UsdPricesOptions } from './usd-prices.ts';
import { createUsdPrices } from './usd-prices.ts';
import { createWalletVerifier } from './wallet-signature.ts';

/** Options of the account interface. */
export interface AccountsOptions {
  /**
   * The books whose orders produce notifications. Each may have an environment name, if its settlement contract does
   * not determine it.
   */
  readonly books: readonly (OrderBook | AccountBook)[];
  /** The store of notifications, subscriptions and affiliate codes. One store serves one account interface. */
  readonly store: AccountStore;
  /** Whether notifications are created and served. If `off`, their endpoints respond with 503. Default: `on`. */
  readonly notifications?: 'on' | 'off';
  /**
   * Interval in milliseconds between two checks of whether the open orders of a book with a chain are funded, or `off`.
   * An account is notified if two consecutive checks find an order unfunded. Default: 60000.
   */
  readonly fundingInterval?: number | 'off';
  /** Source of additional list entries from a content system. Default: none. */
  readonly announcements?: AnnouncementSource;
  /**
   * Returns decimals and symbols of tokens for messages. Default: the wrapped native token of each chain, and tokens of
   * books with a chain client. Amounts of other tokens are shown in atoms.
   */
  readonly tokens?: TokenLookup;
  /** Buffer limits of notification streams. */
  readonly streams?: StreamLimits;
  /** The channels for deliveries. Default: none, and subscriptions are rejected. */
  readonly channels?: readonly Channel[];
  /** Retry options of deliveries. */
  readonly deliveries?: DeliveryOptions;
  /** Maximum number of subscriptions per account. Default: 20. */
  readonly maxSubscriptions?: number;
  /** Maximum number of invitations that a channel sends in a day, such as confirmation mails. Default: 1000. */
  readonly maxInvitations?: number;
  /** Affiliate codes: their signing domain, terms, and source of statistics. */
  readonly affiliates?: AffiliatesOptions;
  /** Sources of prices in US dollars. Default: none. */
  readonly usdPrices?: UsdPricesOptions;
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
}

const OPTIONS = [
  'books',
  'store',
  'notifications',
  'fundingInterval',
  'announcements',
  'tokens',
  'streams',
  'channels',
  'deliveries',
  'maxSubscriptions',
  'maxInvitations',
  'affiliates',
  'usdPrices',
  'mainnet',
  'timeout',
  'balanceInterval',
  'recovery',
  'onFailure',
  'clock',
] as const satisfies readonly (keyof AccountsOptions)[];

/** Notification methods. Each rejects with an `AccountError` of status 503 if notifications are off. */
export interface NotificationApi {
  /** Lists the notifications of an account, newest first. Rejects with `InvalidParameter` for an invalid parameter. */
  list(account: string, query?: NotificationQuery): Promise<NotificationPage>;
  /**
   * Streams the notifications of an account, from now on or from a position in the account log. Leaving the iteration
   * or aborting ends the stream; `close` ends all streams.
   */
  stream(account: string, options?: StreamOptions): Promise<AsyncIterable<NotificationStreamEvent>>;
  /** The same reads as JSON text, for the HTTP interface. */
  readonly rendered: {
    list(account: string, query?: NotificationQuery): Promise<RenderedNotifications>;
    stream(account: string, options?: StreamOptions): Promise<Stream>;
  };
}

/** Delivery methods for operators. */
export interface DeliveryApi {
  /** Lists deliveries in a state, oldest first, only those above `after`. Default of `limit`: 100. */
  list(query: { readonly state: DeliveryState; readonly after?: number; readonly limit?: number }): Promise<Delivery[]>;
  /** Makes dead deliveries pending again: those with the given `seq`, or all. Returns their number. */
  replay(seqs?: readonly number[]): Promise<number>;
}

/** The backlog of notifications and deliveries, for monitoring. */
export interface AccountBacklog {
  /** Numbers of pending and dead deliveries. */
  readonly deliveries: DeliveryCounts;
  /** For each book, in order: the number of log entries that are not processed yet. */
  readonly books: readonly { readonly book: OrderBook; readonly entries: number }[];
}

/** The account interface of one or more books. See docs/internals/decisions.md#d5-9. */
export interface Accounts {
  readonly notifications: NotificationApi;
  readonly subscriptions: SubscriptionApi;
  readonly deliveries: DeliveryApi;
  readonly affiliates: AffiliateApi;
  readonly usdPrices: UsdPriceApi;
  readonly balances: AccountBalances;

  /** The clock, for mounts. */
  readonly clock: Clock;

  /**
   * Opens the store and starts to process the logs of the books, which the host has started. Every method rejects
   * before.
   */
  start(): Promise<void>;
  /** Stops processing and closes the store; must be called before the books are closed. It can be started again. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
  /** Returns whether it can serve requests. Never rejects. */
  ready(): Promise<Readiness>;
  /** Returns the backlog of notifications and deliveries. */
  backlog(): Promise<AccountBacklog>;
  /** Reports a failure for which no caller waits to `onFailure`. For mounts. */
  reportError(failure: unknown): void;
}

/**
 * Creates the account interface of any number of books. Nothing runs until `start`.
 *
 * @throws TypeError naming the option that is unknown or invalid.
 */
export function createAccounts(options: AccountsOptions): Accounts {
  assertKnownOptions('createAccounts', options, OPTIONS);
  const { store, clock = systemClock, notifications: notificationMode = 'on' } = options;
  if (store === undefined) throw new TypeError('createAccounts: a store is required, such as memoryAccountStore()');
  if (notificationMode !== 'on' && notificationMode !== 'off') {
    throw new TypeError(`createAccounts: notifications must be "on" or "off", got ${JSON.stringify(notificationMode)}`);
  }
  const books = readBooks(options.books);
  const { tokens = createTokenLookup(books) } = options;
  if (typeof tokens !== 'function')
    throw new TypeError(`createAccounts: tokens must be a function, got ${typeof tokens}`);
  const hints = new Set<() => void>();
  const deadline = parsePositiveInteger('timeout', options.timeout ?? 5_000);
  const interval = parsePositiveInteger('balanceInterval', options.balanceInterval ?? 5_000);
  let running = false;

  function report(failure: unknown): void {
    try {
      options.onFailure?.(failure);
    } catch {
      // An error of the handler has no further receiver.
    }
  }

  const broadcaster = createStreamBroadcaster({
    // Each account resumes from the store, independent of the buffers of other accounts.
    ...parseStreamLimits('createAccounts', options.streams ?? {}, Number.MAX_SAFE_INTEGER),
    onFailure: report,
    log: createNotificationLog(store, (hint) => {
      hints.add(hint);
      const unwatch = store.notifications.watch(hint);
      return () => {
        hints.delete(hint);
        unwatch();
      };
    }),
  });

  /** Called after entries were written to the account log. */
  function appended(): void {
    for (const hint of [...hints]) hint();
    dispatcher.wake();
  }

  const indexers = books.map((book) =>
    createNotificationIndexer({ book, store, clock, tokens, onAppended: appended, onFailure: report }),
  );
  const { fundingInterval = 60_000 } = options;
  const fundingChecks =
    fundingInterval === 'off'
      ? []
      : books
          .filter(({ book }) => book.balances.available)
          .map((book) =>
            createFundingCheck({
              book,
              store,
              clock,
              tokens,
              onAppended: appended,
              onFailure: report,
              holder: crypto.randomUUID(),
              interval: parsePositiveInteger('fundingInterval', fundingInterval),
            }),
          );
  function assertStarted(): void {
    if (!running) throw new StoreError('Closed', 'the account interface is not started');
  }

  const { mainnet, recovery } = options;
  const verify = createWalletVerifier({
    mainnet,
    clock,
    deadline,
    onFailure: report,
    ...(recovery === undefined ? {} : { recovery }),
  });
  const affiliates = createAffiliates(options.affiliates ?? {}, {
    store: store.affiliates,
    verify,
    clock,
    deadline,
    onFailure: report,
    assertStarted,
  });
  const usdPrices = createUsdPrices(options.usdPrices ?? { sources: [] }, { clock, onFailure: report });
  const balances = createAccountBalances({ books, clock, interval, assertStarted });

  const channels = createChannelMap(options.channels ?? []);
  const subscriptions = createSubscriptions({
    store,
    channels,
    verify,
    clock,
    deadline,
    assertStarted,
    onFailure: report,
    domainName: options.affiliates?.domainName,
    cap: parsePositiveInteger('maxSubscriptions', options.maxSubscriptions ?? 20),
    maxInvitations: parsePositiveInteger('maxInvitations', options.maxInvitations ?? 1_000),
    random: (size) => crypto.getRandomValues(new Uint8Array(size)),
  });
  const dispatcher = createDeliveryDispatcher({
    attempts: 12,
    retryDelay: 1_000,
    maxRetryDelay: 3_600_000,
    timeout: 3 * deadline,
    ...options.deliveries,
    store,
    channels,
    clock,
    onFailure: report,
    jitter: Math.random,
  });

  function requireNotifications(): void {
    if (notificationMode === 'off') throw new AccountError(503, 'Notifications are disabled');
    assertStarted();
  }

  const { announcements } = options;
  const announce = async (account: Address): Promise<readonly Announcement[]> => {
    if (announcements === undefined) return [];
    try {
      return await withDeadline(clock, deadline, (signal) => announcements(account, { signal }));
    } catch (failure) {
      report(failure); // own notifications do not depend on the content system
      return [];
    }
  };

  const rendered: NotificationApi['rendered'] = {
    async list(account, query = {}) {
      requireNotifications();
      return listNotifications(store, account, query, announce);
    },
    async stream(account, streamOptions) {
      requireNotifications();
      return broadcaster.subscribe(requireAccount(account), streamOptions);
    },
  };

  async function close(): Promise<void> {
    if (!running) return;
    running = false;
    broadcaster.close();
    for (const each of [...indexers, ...fundingChecks]) await each.stop();
    await dispatcher.stop();
    for (const channel of channels.values()) await channel.stop?.();
    balances.close();
    await store.close();
  }

  return {
    notifications: {
      async list(account, query) {
        const page = await rendered.list(account, query);
        const parsed = page.notifications.map((text) => JSON.parse(text) as Notification); // JSON of notifications
        return { ...page, notifications: parsed };
      },
      async stream(account, streamOptions) {
        return mapAsync(await rendered.stream(account, streamOptions), toNotificationStreamEvent);
      },
      rendered,
    },
    subscriptions,
    deliveries: {
      async list({ limit = 100, ...query }) {
        assertStarted();
        return store.deliveries.list({ ...query, limit });
      },
      async replay(seqs) {
        assertStarted();
        const now = clock.now();
        const replayed = await store.deliveries.replay(seqs === undefined ? { now } : { seqs, now });
        dispatcher.wake();
        return replayed;
      },
    },
    clock,
    affiliates,
    usdPrices,
    balances: balances.methods,
    async start() {
      if (running) return;
      await store.open({ clock });
      running = true;
      if (notificationMode === 'off') return;
      for (const each of [...indexers, ...fundingChecks]) each.start();
      if (channels.size === 0) return;
      dispatcher.start();
      const confirm = async (token: string, target: string) =>
        (await store.subscriptions.confirm({ tokenHash: hashToken(token), now: clock.now(), target })) !== undefined;
      for (const channel of channels.values()) channel.start?.({ confirm, report });
    },
    close,
    [Symbol.asyncDispose]: close,
    async ready() {
      try {
        if (!running) throw new StoreError('Closed', 'the account interface is not started');
        await store.check();
        return { ready: true, checks: { accounts: 'ok' } };
      } catch (failure) {
        return { ready: false, checks: { accounts: failure instanceof StoreError ? failure.code : 'unavailable' } };
      }
    },
    async backlog() {
      assertStarted();
      const entries = async ({ book, feed }: KnownBook) => {
        const [cursor, last] = await Promise.all([store.notifications.cursor(feed), book.log.last()]);
        return { book, entries: Math.max(0, last - (cursor ?? 0)) };
      };
      const backlogs = notificationMode === 'off' ? [] : await Promise.all(books.map(entries));
      return { deliveries: await store.deliveries.count(), books: backlogs };
    },
    reportError: report,
  };
}

/** Returns the tokens that the protocol defines. */
/** Creates a lookup that queries the chain for tokens other than wrapped native currency. The books cache results. */
function createTokenLookup(books: readonly KnownBook[]): TokenLookup {
  return (chainId, token) => {
    const chain = chainById(chainId);
    if (chain?.wrappedNative === token) return { decimals: 18, symbol: chain.wrappedSymbol };
    return books.find(({ book }) => book.chainId === chainId)?.book.balances.token(token);
  };
}

function createChannelMap(channels: readonly Channel[]): ReadonlyMap<string, Channel> {
  const byName = new Map(channels.map((channel) => [channel.name, channel]));
  if (byName.size !== channels.length) throw new TypeError('createAccounts: channels must have unique names');
  return byName;
}

function parsePositiveInteger(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new TypeError(`createAccounts: ${name} must be a positive integer, got ${String(value)}`);
}

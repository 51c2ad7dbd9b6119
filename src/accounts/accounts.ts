import { withDeadline } from '../concurrency/deadline.ts';
import { mapAsync } from '../concurrency/map-async.ts';
import type { RecoveryBackendOption } from '../crypto/recovery.ts';
import type { OrderBook, Readiness } from '../order-book.ts';
import type { AccountStore, Delivery, DeliveryCounts, DeliveryState } from '../ports/account-store.ts';
import type { AnnouncementSource } from '../ports/announcements.ts';
import type { ChainClient } from '../ports/chain-client.ts';
import type { Channel } from '../ports/channel.ts';
import type { Clock } from '../ports/clock.ts';
import { systemClock } from '../ports/clock.ts';
import { StoreError } from '../ports/store.ts';
import { chainById } from '../protocol/chains.ts';
import type { Address } from '../protocol/hex.ts';
import type { Stream, StreamOptions } from '../streams/broadcaster.ts';
import { createStreamBroadcaster } from '../streams/broadcaster.ts';
import type { StreamLimits } from '../streams/stream-limits.ts';
import { readStreamLimits } from '../streams/stream-limits.ts';
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
import { createNotificationIndexer } from './notification-indexer.ts';
import type { Notification, NotificationPage, NotificationQuery, RenderedNotifications } from './notification-list.ts';
import { listNotifications, requireAccount } from './notification-list.ts';
import type { TokenLookup } from './notification-messages.ts';
import type { NotificationStreamEvent } from './notification-stream.ts';
import { notificationLog, notificationStreamEvent } from './notification-stream.ts';
import type { SubscriptionApi } from './subscriptions.ts';
import { createSubscriptions, hashOf } from './subscriptions.ts';
import type { UsdPriceApi, UsdPricesOptions } from './usd-prices.ts';
import { createUsdPrices } from './usd-prices.ts';
import { createWalletVerifier } from './wallet-signature.ts';

/** What an account interface is made of. */
export interface AccountsOptions {
  /** The books whose orders accounts are told of, each with its environment where the settlement contract does not tell. */
  readonly books: readonly (OrderBook | AccountBook)[];
  /** Where accounts, their notifications and subscriptions are kept. One store serves one account interface. */
  readonly store: AccountStore;
  /** Whether notifications are made and served; without, their endpoint answers 503. Default `on`. */
  readonly notifications?: 'on' | 'off';
  /**
   * Milliseconds between two looks at whether the open orders of a book that has a chain can be paid for, or `off`. An account
   * is told of an order that two looks on end found unpayable. Default 60000.
   */
  readonly fundingInterval?: number | 'off';
  /** What accounts see in their lists besides, from a content system. Default: nothing. */
  readonly announcements?: AnnouncementSource;
  /** Says what tokens are called, for messages. Default: the wrapped native currency of each chain, and nothing else. */
  readonly tokens?: TokenLookup;
  /** What a stream of notifications may hold back. */
  readonly streams?: StreamLimits;
  /** Ways to be told. Default: none, and nobody can subscribe. */
  readonly channels?: readonly Channel[];
  /** How often, and how soon, a delivery that fails is tried again. */
  readonly deliveries?: DeliveryOptions;
  /** How many subscriptions an account may have. Default 20. */
  readonly maxSubscriptions?: number;
  /** Affiliate codes: the domain they are signed under, what they promise, where statistics come from. */
  readonly affiliates?: AffiliatesOptions;
  /** Where prices in US dollars come from. Default: nowhere, and no token has one. */
  readonly usdPrices?: UsdPricesOptions;
  /**
   * Chain 1, which is asked whether a contract wallet has signed (EIP-1271), on whatever chain it trades. Default: nobody,
   * and contract wallets are answered with 503.
   */
  readonly mainnet?: Pick<ChainClient, 'isValidSignature'>;
  /** Milliseconds that chain 1 and sources of statistics have to answer. Default 5000. */
  readonly timeout?: number;
  /** Milliseconds between two readings of an account whose balances are watched. Default 5000. */
  readonly balanceInterval?: number;
  /** Where public keys are recovered, as with `createOrderBook`. */
  readonly recovery?: RecoveryBackendOption;
  /** Told of what fails and no caller waits for. */
  readonly onFailure?: (failure: unknown) => void;
  /** Where time comes from. Default: the machine's clock. */
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
  'affiliates',
  'usdPrices',
  'mainnet',
  'timeout',
  'balanceInterval',
  'recovery',
  'onFailure',
  'clock',
] as const satisfies readonly (keyof AccountsOptions)[];

/** The verbs on notifications. Each rejects with an `AccountError` of 503 when they are switched off. */
export interface NotificationApi {
  /** Lists what an account was told, newest first. Rejects with `InvalidParameter` when a parameter is none. */
  list(account: string, query?: NotificationQuery): Promise<NotificationPage>;
  /**
   * Tells what an account is told, from now on or from a place in the account log on. Leaving the iteration, or aborting,
   * ends it; closing ends all.
   */
  stream(account: string, options?: StreamOptions): Promise<AsyncIterable<NotificationStreamEvent>>;
  /** The same reads as JSON text, as the HTTP interface sends it. */
  readonly rendered: {
    list(account: string, query?: NotificationQuery): Promise<RenderedNotifications>;
    stream(account: string, options?: StreamOptions): Promise<Stream>;
  };
}

/** For operators: what has become of what was to be delivered. */
export interface DeliveryApi {
  /** Reads deliveries in a state, oldest first, those above `after` only, 100 unless `limit` says otherwise. */
  list(query: { readonly state: DeliveryState; readonly after?: number; readonly limit?: number }): Promise<Delivery[]>;
  /** Has dead deliveries tried again, those named by their `seq` or all. @returns how many. */
  replay(seqs?: readonly number[]): Promise<number>;
}

/** How far telling accounts is behind, for whoever watches over it. */
export interface AccountBacklog {
  /** What waits to be delivered, and what was given up. */
  readonly deliveries: DeliveryCounts;
  /** For each book, in their order, entries of its log that have not been made notifications of yet. */
  readonly books: readonly { readonly book: OrderBook; readonly entries: number }[];
}

/** The account interface of one or more books (decision 5.9). */
export interface Accounts {
  readonly notifications: NotificationApi;
  readonly subscriptions: SubscriptionApi;
  readonly deliveries: DeliveryApi;
  readonly affiliates: AffiliateApi;
  readonly usdPrices: UsdPriceApi;
  readonly balances: AccountBalances;

  /** Where it takes the time from, for mounts. */
  readonly clock: Clock;

  /** Opens the store and begins to follow the books, which the host has started. Every verb rejects until then. */
  start(): Promise<void>;
  /** Stops following and closes the store; to be called before the books are closed. Can be started again. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
  /** Whether it can serve. Never rejects. */
  ready(): Promise<Readiness>;
  /** Looks how far telling accounts is behind. */
  backlog(): Promise<AccountBacklog>;
  /** Tells `onFailure` about something that no caller waits for. For mounts. */
  reportError(failure: unknown): void;
}

/**
 * Creates the account interface of any number of books. Nothing runs until `start`.
 *
 * @throws TypeError naming the option that is unknown or malformed.
 */
export function createAccounts(options: AccountsOptions): Accounts {
  assertKnownOptions('createAccounts', options, OPTIONS);
  const { store, clock = systemClock, notifications: notifying = 'on' } = options;
  if (store === undefined) throw new TypeError('createAccounts: a store is required, such as memoryAccountStore()');
  if (notifying !== 'on' && notifying !== 'off') {
    throw new TypeError('createAccounts: notifications must be "on" or "off"');
  }
  const books = readBooks(options.books);
  const { tokens = wrappedNative } = options;
  if (typeof tokens !== 'function') throw new TypeError('createAccounts: tokens must be a function');
  const hints = new Set<() => void>();
  const deadline = milliseconds('timeout', options.timeout ?? 5_000);
  const interval = milliseconds('balanceInterval', options.balanceInterval ?? 5_000);
  let running = false;

  function report(failure: unknown): void {
    try {
      options.onFailure?.(failure);
    } catch {
      // It had its chance.
    }
  }

  const hub = createStreamBroadcaster({
    // What an account has missed is found by the account, whatever the others were told.
    ...readStreamLimits('createAccounts', options.streams ?? {}, Number.MAX_SAFE_INTEGER),
    onFailure: report,
    log: notificationLog(store, (hint) => {
      hints.add(hint);
      const unwatch = store.notifications.watch(hint);
      return () => {
        hints.delete(hint);
        unwatch();
      };
    }),
  });

  /** There may be new entries in the account log. */
  function appended(): void {
    for (const hint of [...hints]) hint();
    dispatcher.wake();
  }

  const followers = books.map((book) =>
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
              interval: milliseconds('fundingInterval', fundingInterval),
            }),
          );
  function started(): void {
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
    started,
  });
  const usdPrices = createUsdPrices(options.usdPrices ?? { sources: [] }, { clock, onFailure: report });
  const balances = createAccountBalances({ books, clock, interval, started });

  const channels = channelsOf(options.channels ?? []);
  const subscriptions = createSubscriptions({
    store,
    channels,
    verify,
    clock,
    deadline,
    started,
    onFailure: report,
    domainName: options.affiliates?.domainName,
    cap: milliseconds('maxSubscriptions', options.maxSubscriptions ?? 20),
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
    if (notifying === 'off') throw new AccountError(503, 'Notifications are disabled');
    started();
  }

  const { announcements } = options;
  const announce = async (account: Address) =>
    announcements === undefined ? [] : withDeadline(clock, deadline, (signal) => announcements(account, { signal }));

  const rendered: NotificationApi['rendered'] = {
    async list(account, query = {}) {
      requireNotifications();
      return listNotifications(store, account, query, announce);
    },
    async stream(account, streamOptions) {
      requireNotifications();
      return hub.subscribe(requireAccount(account), streamOptions);
    },
  };

  async function close(): Promise<void> {
    if (!running) return;
    running = false;
    hub.close();
    for (const each of [...followers, ...fundingChecks]) await each.stop();
    await dispatcher.stop();
    for (const channel of channels.values()) await channel.stop?.();
    balances.close();
    await store.close();
  }

  return {
    notifications: {
      async list(account, query) {
        const page = await rendered.list(account, query);
        const parsed = page.notifications.map((text) => JSON.parse(text) as Notification); // rendered from one
        return { ...page, notifications: parsed };
      },
      async stream(account, streamOptions) {
        return mapAsync(await rendered.stream(account, streamOptions), notificationStreamEvent);
      },
      rendered,
    },
    subscriptions,
    deliveries: {
      async list({ limit = 100, ...query }) {
        started();
        return store.deliveries.list({ ...query, limit });
      },
      async replay(seqs) {
        started();
        const now = clock.now();
        const replayed = await store.deliveries.replay(seqs === undefined ? { now } : { seqs, now });
        dispatcher.wake();
        return replayed;
      },
    },
    clock,
    affiliates,
    usdPrices,
    balances: balances.verbs,
    async start() {
      if (running) return;
      await store.open({ clock });
      running = true;
      if (notifying === 'off') return;
      for (const each of [...followers, ...fundingChecks]) each.start();
      if (channels.size === 0) return;
      dispatcher.start();
      const confirm = async (token: string, target: string) =>
        (await store.subscriptions.confirm({ tokenHash: hashOf(token), now: clock.now(), target })) !== undefined;
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
      started();
      const entries = async ({ book, feed }: KnownBook) => {
        const [cursor, last] = await Promise.all([store.notifications.cursor(feed), book.log.last()]);
        return { book, entries: Math.max(0, last - (cursor ?? 0)) };
      };
      const behind = notifying === 'off' ? [] : await Promise.all(books.map(entries));
      return { deliveries: await store.deliveries.count(), books: behind };
    },
    reportError: report,
  };
}

/** What the protocol itself knows of tokens. */
const wrappedNative: TokenLookup = (chainId, token) => {
  const chain = chainById(chainId);
  return chain?.wrappedNative === token ? { decimals: 18, symbol: chain.wrappedSymbol } : undefined;
};

function channelsOf(channels: readonly Channel[]): ReadonlyMap<string, Channel> {
  const byName = new Map(channels.map((channel) => [channel.name, channel]));
  if (byName.size !== channels.length) throw new TypeError('createAccounts: two channels have one name');
  return byName;
}

function milliseconds(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new TypeError(`createAccounts: ${name} must be a whole number from 1 up`);
}

import { withDeadline } from '../concurrency/deadline.ts';
import { createLifecycle } from '../concurrency/lifecycle.ts';
import { mapAsync } from '../concurrency/map-async.ts';
import { parseStreamLimits } from '../limits/index.ts';
import { createFailureReporter } from '../listeners.ts';
import type { Announcement } from '../ports/announcements.ts';
import { systemClock } from '../ports/clock.ts';
import type { UsdPriceQuery } from '../ports/prices.ts';
import { systemRandom } from '../ports/random.ts';
import { StoreError } from '../ports/store.ts';
import { chainById, NATIVE_MARKER } from '../protocol/chains.ts';
import { formatValue } from '../protocol/format-value.ts';
import type { Address } from '../protocol/hex.ts';
import { getNativeCurrency } from '../protocol/native-currency.ts';
import { createStreamBroadcaster } from '../streams/index.ts';
import { assertFunctions, assertKnownOptions } from '../validation/options.ts';
import { createAccountBalances } from './account-balances.ts';
import type { KnownBook } from './account-books.ts';
import { parseBooks } from './account-books.ts';
import { AccountError } from './account-error.ts';
import { createAccountRetention } from './account-retention.ts';
import type { Accounts, NotificationApi } from './accounts-api.ts';
import type { AccountsOptions } from './accounts-options.ts';
import { ACCOUNTS_OPTIONS, parseDeliveries, parsePositiveInteger, parseRetention } from './accounts-options.ts';
import { createOwnStatistics } from './affiliate-statistics/own-statistics.ts';
import { createValuation } from './affiliate-statistics/valuation.ts';
import type { AffiliateTerms } from './affiliates.ts';
import { createAffiliates } from './affiliates.ts';
import { selectAnnouncements } from './announcements.ts';
import { createChannelMap, startChannels, stopChannels } from './channel-list.ts';
import { createDeliveryDispatcher } from './delivery-dispatcher.ts';
import { createFundingCheck } from './funding-check.ts';
import { createHistory } from './history/history.ts';
import { dropForeignSymbol } from './known-symbols.ts';
import type { Notification } from './notification.ts';
import { createNotificationIndexer } from './notification-indexer.ts';
import { listNotifications } from './notification-list.ts';
import type { TokenLookup } from './notification-messages.ts';
import { createNotificationLog, toNotificationStreamEvent } from './notification-stream.ts';
import { createSourceObserver } from './observations.ts';
import { requireAccount } from './parameters.ts';
import { createPools } from './pools.ts';
import { createSimulation } from './simulation/simulation.ts';
import { createOwnHistory } from './slippage/own-history.ts';
import { createSlippage } from './slippage/slippage.ts';
import { createSubscriptions, hashToken } from './subscriptions.ts';
import { createTokenApi } from './token-details.ts';
import { createUsdPrices } from './usd-prices.ts';
import { createWalletVerifier } from './wallet-signature.ts';

/**
 * Creates the account interface of any number of books. Nothing runs until `start`.
 *
 * @throws TypeError naming the option that is unknown or invalid.
 */
export function createAccounts(options: AccountsOptions): Accounts {
  assertKnownOptions('createAccounts', options, ACCOUNTS_OPTIONS);
  const { store, clock = systemClock, random = systemRandom, notifications: notificationMode = 'on' } = options;
  if (typeof store !== 'object' || store === null || !('notifications' in store)) {
    const expected = 'store must be an account store such as memoryAccountStore()';
    throw new TypeError(`createAccounts: ${expected}, got ${formatValue(store)}`);
  }
  if (notificationMode !== 'on' && notificationMode !== 'off') {
    throw new TypeError(`createAccounts: notifications must be "on" or "off", got ${JSON.stringify(notificationMode)}`);
  }
  assertFunctions('createAccounts: clock', options.clock, ['now', 'after']);
  assertFunctions('createAccounts: mainnet', options.mainnet, ['isValidSignature']);
  assertFunctions('createAccounts: random', options.random, ['bytes', 'uuid', 'fraction']);
  const books = parseBooks(options.books);
  if (options.tokens !== undefined && typeof options.tokens !== 'function')
    throw new TypeError(`createAccounts: tokens must be a function, got ${typeof options.tokens}`);
  const tokens = createTokenLookup(books, options.tokens);
  const hints = new Set<() => void>();
  const deadline = parsePositiveInteger('timeout', options.timeout ?? 5_000);
  const interval = parsePositiveInteger('balanceInterval', options.balanceInterval ?? 5_000);
  const { assertStarted, ...lifecycle } = createLifecycle('account interface', { open, workers: getWorkers, close });

  const report = createFailureReporter(options.onFailure);

  const observer = createSourceObserver(clock, report);
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

  const age = parseRetention(options.retention);
  const indexers = books.map((book) =>
    createNotificationIndexer({ book, store, clock, tokens, retention: age, onAppended: appended, onFailure: report }),
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
              holder: random.uuid(),
              interval: parsePositiveInteger('fundingInterval', fundingInterval),
            }),
          );
  const retention = createAccountRetention({
    store,
    clock,
    notifications: age,
    onFailure: report,
  });
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
    observer,
    ownStatistics: () => ownStatistics,
    assertStarted,
  });
  const usdPrices = createUsdPrices(options.usdPrices ?? { sources: [] }, {
    clock,
    onFailure: report,
    observer,
    onPrice: (query, price) => ownHistory.addPrice(query, price),
  });
  // The failures of sources were reported.
  const findPrice = ({ chainId, token }: UsdPriceQuery) => usdPrices.get(chainId, token).catch(() => undefined);
  const ownHistory = createOwnHistory({
    books,
    dollarTokens: options.slippage?.dollarTokens,
    tokens,
    readPrice: findPrice,
    clock,
    onFailure: report,
  });
  const tokenApi = createTokenApi({
    books,
    tokens,
    holders: options.tokenHolders ?? [],
    clock,
    onFailure: report,
    observer,
    assertStarted,
  });
  const simulation = createSimulation({
    simulators: options.simulators ?? {},
    clock,
    random,
    onFailure: report,
    observer,
    assertStarted,
  });
  const pools = createPools({ sources: options.pools ?? [], clock, onFailure: report, observer, assertStarted });
  const slippage = createSlippage({
    options: options.slippage ?? {},
    books,
    usdPrices,
    ownHistory,
    clock,
    onFailure: report,
    observer,
    assertStarted,
  });
  const ownStatistics = createOwnStatistics({
    books,
    store,
    getTerms: (code) => requireTerms(affiliates.getTerms(code)),
    payouts: options.affiliates?.payouts,
    tokens,
    value: createValuation({
      clock,
      tokens,
      readPrice: async (query) => (await findPrice(query))?.price,
      readHistory: slippage.readHistory,
      onFailure: report,
    }),
    clock,
    onFailure: report,
  });
  const hasOwnStatistics = options.affiliates?.statistics === 'own';
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
    quota: parsePositiveInteger('maxSubscriptions', options.maxSubscriptions ?? 20),
    maxInvitations: parsePositiveInteger('maxInvitations', options.maxInvitations ?? 1_000),
    random: random.bytes,
    async hasOrders(account) {
      const found = await Promise.all(books.map(({ book }) => book.orders.list({ owner: account, limit: 1 })));
      return found.some(({ orders }) => orders.length > 0);
    },
  });
  const dispatcher = createDeliveryDispatcher({
    ...parseDeliveries(options.deliveries ?? {}, 3 * deadline),
    store,
    channels,
    clock,
    onFailure: report,
    jitter: random.fraction,
  });

  function requireNotifications(): void {
    if (notificationMode === 'off') throw new AccountError(503, 'Notifications are disabled');
    assertStarted();
  }

  const { announcements } = options;
  const announce = async (account: Address): Promise<readonly Announcement[]> => {
    if (announcements === undefined) return [];
    try {
      const result = await withDeadline(clock, deadline, (signal) => announcements(account, { signal }));
      return selectAnnouncements(result, report);
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

  async function open(): Promise<true> {
    await store.open({ clock });
    return true;
  }

  function getWorkers(): readonly { start(): void }[] {
    const ofStore = hasOwnStatistics ? [ownStatistics, retention] : [retention];
    if (notificationMode === 'off') return ofStore;
    const notifying = [...ofStore, ...indexers, ...fundingChecks];
    if (channels.size === 0) return notifying;
    const confirm = async (token: string, target: string) =>
      (await store.subscriptions.confirm({ tokenHash: hashToken(token), now: clock.now(), target })) !== undefined;
    const listening = { start: () => startChannels(channels, { confirm, report }) };
    return [...notifying, dispatcher, listening];
  }

  async function close(end: () => void): Promise<void> {
    end();
    broadcaster.close();
    for (const each of [...indexers, ...fundingChecks]) await each.stop();
    await retention.stop();
    if (hasOwnStatistics) await ownStatistics.stop();
    await ownHistory.stop();
    await dispatcher.stop();
    await stopChannels(channels, report);
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
    subscriptions: {
      ...subscriptions,
      // It would receive nothing. Existing ones can still be listed and removed.
      async create(account, request, caller) {
        requireNotifications();
        return subscriptions.create(account, request, caller);
      },
    },
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
    history: createHistory({ books, assertStarted }),
    clock,
    affiliates,
    usdPrices,
    slippage,
    tokens: tokenApi,
    simulation,
    pools,
    balances: balances.methods,
    ...lifecycle,
    async ready() {
      try {
        assertStarted();
        await store.check();
        return { ready: true, checks: { accounts: 'ok' } };
      } catch (failure) {
        return { ready: false, checks: { accounts: failure instanceof StoreError ? failure.code : 'unavailable' } };
      }
    },
    async backlog() {
      assertStarted();
      const entries = async ({ book, feed }: KnownBook) => {
        const cursor = (await store.notifications.cursor(feed)) ?? 0;
        const last = await book.log.last();
        // A log that ends before the cursor was made anew, and is read from its start.
        return { book, entries: cursor > last ? last : last - cursor };
      };
      const backlogs = notificationMode === 'off' ? [] : await Promise.all(books.map(entries));
      return { deliveries: await store.deliveries.count(), books: backlogs };
    },
    observe: observer.observe,
    reportError: report,
  };
}

/**
 * Creates the lookup of all tokens. Native currency is known on each chain, and its wrapped token unless the host has
 * it. Other tokens are those of the host, otherwise of the chain, whose results the books cache.
 */
function createTokenLookup(books: readonly KnownBook[], ofHost: TokenLookup | undefined): TokenLookup {
  return async (chainId, token) => {
    if (token === NATIVE_MARKER) return getNativeCurrency(chainId);
    const chain = chainById(chainId);
    const label = await ofHost?.(chainId, token);
    if (label !== undefined) return label;
    if (chain?.wrappedNative === token) return { decimals: 18, symbol: chain.wrappedSymbol };
    if (ofHost !== undefined) return undefined;
    const ofChain = await books.find(({ book }) => book.chainId === chainId)?.book.balances.token(token);
    return ofChain && dropForeignSymbol(chainId, token, ofChain);
  };
}

/** The terms of own statistics were checked when the affiliates were created. */
function requireTerms(terms: AffiliateTerms | undefined): AffiliateTerms {
  if (terms !== undefined) return terms;
  throw new TypeError("createAccounts: affiliates.statistics 'own' requires affiliates.terms");
}

import type { KnownBook } from '../account-tools/account-books.ts';
import { parseBooks } from '../account-tools/account-books.ts';
import { createSourceObserver } from '../account-tools/observations.ts';
import type { TokenLookup } from '../account-tools/token-labels.ts';
import { dropForeignSymbol, listKnownTokens } from '../account-tools/token-labels.ts';
import { createWalletVerifier } from '../account-tools/wallet-signature.ts';
import { createAffiliates } from '../affiliates/index.ts';
import { createLifecycle } from '../concurrency/lifecycle.ts';
import { parseStreamLimits } from '../limits/index.ts';
import { createFailureReporter } from '../listeners.ts';
import { createMarket } from '../market/index.ts';
import { createNotifications } from '../notifications/index.ts';
import { systemClock } from '../ports/clock.ts';
import { systemRandom } from '../ports/random.ts';
import { StoreError } from '../ports/store.ts';
import { AFFILIATE_DOMAIN_NAME } from '../protocol/affiliate.ts';
import { chainById, NATIVE_MARKER } from '../protocol/chains.ts';
import { formatValue } from '../protocol/format-value.ts';
import { assertFunctions, assertKnownOptions, requireFunction, requireInteger } from '../validation/options.ts';
import { requireAccount } from '../validation/parameters.ts';
import { createAccountBalances } from './account-balances.ts';
import { createAccountPruning } from './account-retention.ts';
import type { Accounts } from './accounts-api.ts';
import type { AccountsOptions } from './accounts-options.ts';
import { ACCOUNTS_OPTIONS, parseAccountRetention, parseDeliveries } from './accounts-options.ts';
import { createHistory } from './history/history.ts';

/**
 * Creates the account interface of any number of books. Nothing runs until `start`.
 *
 * @throws TypeError naming the option that is unknown or invalid.
 */
export function createAccounts(options: AccountsOptions): Accounts {
  assertKnownOptions('createAccounts', options, ACCOUNTS_OPTIONS);
  const { store, clock = systemClock, random = systemRandom, notifications: mode = 'on' } = options;
  const { revertedNotifications = 'off' } = options;
  assertOptions(options, mode, revertedNotifications);
  const { audience = options.affiliates?.domainName ?? AFFILIATE_DOMAIN_NAME } = options;
  const books = parseBooks(options.books);
  const tokens = createTokenLookup(books, options.tokens);
  const deadline = requireInteger('createAccounts: timeout', options.timeout ?? 5_000);
  const interval = requireInteger('createAccounts: balanceInterval', options.balanceInterval ?? 5_000);
  const { fundingInterval = 60_000, mainnet, recovery } = options;
  const { assertStarted, ...lifecycle } = createLifecycle('account interface', { open, workers: getWorkers, close });
  const onFailure = createFailureReporter(options.onFailure);
  const observer = createSourceObserver(clock, onFailure);
  const age = parseAccountRetention(options.retention);
  const verify = createWalletVerifier({ mainnet, clock, deadline, onFailure, ...(recovery && { recovery }) });
  const tools = { books, store, tokens, verify, clock, random, deadline, observer, onFailure, assertStarted };

  const retention = createAccountPruning({ store, clock, notifications: age, onFailure });
  const market = createMarket(tools, {
    usdPrices: options.usdPrices ?? { sources: [] },
    slippage: options.slippage ?? {},
    holders: options.tokenHolders ?? [],
    pools: options.pools ?? [],
    simulators: options.simulators ?? {},
  });
  const affiliates = createAffiliates(options.affiliates ?? {}, tools, market);
  const notifications = createNotifications(tools, {
    mode,
    retention: age,
    revertedNotifications: revertedNotifications === 'on',
    channels: options.channels ?? [],
    announcements: options.announcements,
    streams: parseStreamLimits('createAccounts', options.streams ?? {}, Number.MAX_SAFE_INTEGER),
    deliveries: parseDeliveries(options.deliveries ?? {}, 3 * deadline),
    fundingInterval:
      fundingInterval === 'off' ? 'off' : requireInteger('createAccounts: fundingInterval', fundingInterval),
    domainName: options.affiliates?.domainName,
    audience,
    quota: requireInteger('createAccounts: maxSubscriptions', options.maxSubscriptions ?? 20),
    maxInvitations: requireInteger('createAccounts: maxInvitations', options.maxInvitations ?? 1_000),
  });
  const balances = createAccountBalances(tools, interval, options.tokenBalances ?? []);

  async function open(): Promise<true> {
    await Promise.all(books.map(({ book }) => assertBookStarted(book)));
    await store.open({ clock });
    return true;
  }

  function getWorkers(): readonly { start(): void }[] {
    return [...affiliates.workers, retention, ...notifications.workers()];
  }

  async function close(end: () => void): Promise<void> {
    end();
    await notifications.stop();
    await retention.stop();
    await affiliates.stop();
    await market.stop();
    balances.close();
    await store.close();
  }

  return {
    notifications: notifications.methods,
    subscriptions: notifications.subscriptions,
    deliveries: notifications.deliveries,
    history: createHistory(tools),
    clock,
    affiliates: affiliates.methods,
    usdPrices: market.usdPrices,
    slippage: market.slippage,
    tokens: market.tokens,
    simulation: market.simulation,
    pools: market.pools,
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
    async forget(accountText) {
      const account = requireAccount(accountText);
      assertStarted();
      return store.forget(account);
    },
    backlog: notifications.backlog,
    observe: observer.observe,
    reportError: onFailure,
  };
}

async function assertBookStarted(book: KnownBook['book']): Promise<void> {
  const { store: state } = (await book.ready()).checks;
  if (state !== 'NotStarted' && state !== 'Closed') return;
  const reason = state === 'Closed' ? 'closed' : 'not started';
  throw new StoreError(state, `the book of chain ${book.chainId} is ${reason}; start it before the account interface`);
}

function assertOptions(options: AccountsOptions, notifications: unknown, revertedNotifications: unknown): void {
  const { store } = options;
  if (typeof store !== 'object' || store === null || !('notifications' in store)) {
    const expected = 'store must be an account store such as memoryAccountStore()';
    throw new TypeError(`createAccounts: ${expected}, got ${formatValue(store)}`);
  }
  if (options.audience !== undefined && (typeof options.audience !== 'string' || options.audience === '')) {
    throw new TypeError('createAccounts: audience must be a non-empty string');
  }
  for (const [name, value] of Object.entries({ notifications, revertedNotifications })) {
    if (value !== 'on' && value !== 'off')
      throw new TypeError(`createAccounts: ${name} must be "on" or "off", got ${JSON.stringify(value)}`);
  }
  assertFunctions('createAccounts: clock', options.clock, ['now', 'after']);
  assertFunctions('createAccounts: mainnet', options.mainnet, ['isValidSignature']);
  assertFunctions('createAccounts: random', options.random, ['bytes', 'uuid', 'fraction']);
  if (options.tokens !== undefined) requireFunction('createAccounts: tokens', options.tokens);
}

/**
 * Creates the lookup of all tokens. Native currency is known on each chain. Other tokens are those of the host, then
 * common tokens, then those of the chain, whose results the books cache: its symbols are not vouched for.
 */
function createTokenLookup(books: readonly KnownBook[], ofHost: TokenLookup | undefined): TokenLookup {
  return async (chainId, token) => {
    const label = token === NATIVE_MARKER ? undefined : await ofHost?.(chainId, token);
    if (label !== undefined) return label;
    const known = listKnownTokens(chainId).find(({ address }) => address === token);
    if (token === NATIVE_MARKER || token === chainById(chainId)?.wrappedNative) return known;
    const ofChain = await books.find(({ book }) => book.chainId === chainId)?.book.balances.token(token);
    // The same address may be another contract on a test chain, and amounts of dollars derive from the decimals.
    if (known !== undefined)
      return { ...known, ...(ofChain?.decimals !== undefined && { decimals: ofChain.decimals }) };
    return ofChain && { ...dropForeignSymbol(chainId, token, ofChain), isUnverified: true };
  };
}

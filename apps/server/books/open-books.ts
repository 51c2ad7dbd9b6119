import type { Address, ApiOptions, Domain, OrderBook, PolicyContext, RetentionOptions, Store } from 'intentbook';
import { createOrderBook, systemClock } from 'intentbook';
import type { ChainState } from 'intentbook/prometheus';
import { chainById, defined, deployment, type Environment } from '#internal';
import { type BookPlan, getAddress, type Pooler, type StoreLocation } from '../config/plan.ts';
import type { ChainChange } from './chain-monitor.ts';
import { reportChainChanges } from './chain-monitor.ts';
import { createChainOptions } from './chain-options.ts';
import { createDenyList, type DenyList } from './deny-list.ts';
import { createVolumeFee, readFees } from './fee-policies.ts';
import { publishEvents } from './publish-events.ts';
import { hasTestPrices, quoteOptions } from './quote-options.ts';
import { runAuctions } from './run-auctions.ts';
import { upstreamOptions } from './upstream-options.ts';
import type { LeaseWait } from './wait-for-lease.ts';
import { waitForLease } from './wait-for-lease.ts';

/** A served book. */
export interface OpenBook {
  readonly book: OrderBook;
  /** The name of its chain, or the chain id. */
  readonly chain: string;
  readonly environment: Environment;
  /** The path of the book: `/`, or a path such as `/staging/mainnet`. */
  readonly path: string;
  /** The store: the absolute path of the file, or the address of the database without secrets. */
  readonly database: string | undefined;
  /** The connection to its nodes. Absent without nodes. */
  readonly monitor?: ChainState;
  /** Host names of its nodes, the preferred one first. */
  readonly nodes: readonly string[];
  /** Host of its upstream. */
  readonly upstream?: string;
  /** Names of accounts that the explorer shows, by address. */
  readonly names?: Readonly<Record<string, string>> | undefined;
  readonly logos?: Readonly<Record<string, string>> | undefined;
  /** Whether its quotes use the prices of test tokens. Default: false. */
  readonly testPrices?: boolean;
  /** Options of its HTTP interface. Default: those of the server. */
  readonly apiOptions?: Pick<ApiOptions, 'hideCompetitions'>;
  /** Closes the book and its deny lists. */
  close(): Promise<void>;
}

/** Receives the failures and events of a book from its start on. */
export interface BookObserver {
  readonly onFailure: (path: string, failure: unknown) => void;
  readonly onChainChange: (change: ChainChange) => void;
  readonly leaseWait: LeaseWait;
}

/**
 * Opens the planned books concurrently, in the order of the plan. A chain whose nodes do not respond must not delay the
 * other books.
 *
 * @param stores - Stores of the host, by the index of the book.
 * @throws the first failure, after the other books are closed.
 */
export async function openBooks(
  plans: readonly BookPlan[],
  observer: BookObserver,
  stores: readonly (Store | undefined)[],
): Promise<OpenBook[]> {
  const outcomes = await Promise.allSettled(plans.map((plan, i) => openBook(plan, observer, stores[i])));
  const opened = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed === undefined) return opened;
  await Promise.allSettled(opened.map((book) => book.close()));
  throw failed.reason;
}

/** Opens a planned book, in a store of the host if given. */
async function openBook(plan: BookPlan, observer: BookObserver, store?: Store): Promise<OpenBook> {
  const { settings, chain, chainId, environment, path, place } = plan;
  let book: OrderBook | undefined;
  const lists: DenyList[] = [];
  const createList = (given: string | readonly string[] | undefined) => {
    const list = createDenyList(given, (failure) => book?.reportError(failure));
    lists.push(list);
    return list.addresses;
  };
  const closeLists = () => {
    for (const list of lists) list.close();
  };
  try {
    const [addresses, deniedTokens] = [createList(settings.deniedAddresses), createList(settings.deniedTokens)];
    const options = await bookOptions(plan);
    const opened = createOrderBook({
      ...options,
      chainId,
      store: store ?? (await openStore(place, { writeThread: settings.dbThread ?? 'auto' })),
      deniedTokens,
      ...(settings.deniedAddresses === undefined
        ? {}
        : {
            isDenied: async (address: Address, call: PolicyContext) =>
              addresses.has(address) || (await options.isDenied?.(address, call)) === true,
          }),
    });
    book = opened;
    const monitor = settings.rpc === undefined ? undefined : reportChainChanges(path, opened, observer.onChainChange);
    opened.on('failure', (failure) => observer.onFailure(path, failure));
    await waitForLease(path, opened.start, observer.leaseWait);
    const endEvents = await startWork(opened, plan).catch(async (error: unknown) => {
      await opened.close();
      throw error;
    });
    return {
      book: opened,
      chain,
      environment,
      path,
      database: store === undefined ? getStoreName(place) : undefined,
      ...(monitor === undefined ? {} : { monitor }),
      testPrices: hasTestPrices({ chain, prices: getPrices(settings) }),
      names: settings.accountNames,
      logos: settings.tokenLogos,
      apiOptions: { hideCompetitions: settings.hideCompetitions },
      nodes: (settings.rpc ?? []).map((url) => new URL(url).host),
      ...(settings.upstream === undefined ? {} : { upstream: new URL(settings.upstream).host }),
      async close() {
        closeLists();
        await endEvents();
        await opened.close();
      },
    };
  } catch (error) {
    closeLists();
    throw error;
  }
}

/** Starts what a started book does besides serving. Returns a function that ends the publication of events. */
async function startWork(book: OrderBook, { settings, nats }: BookPlan): Promise<() => Promise<void>> {
  const { followedOwners: owners = [], followedAppData: appData = [] } = settings;
  await book.upstream?.follow({ owners, appData });
  await runAuctions(book, settings);
  return publishEvents(book, nats);
}

/** Returns the options of a book that derive from its settings. */
async function bookOptions({ settings, chain, chainId, environment }: BookPlan) {
  const { maxOpenOrders, maxPendingPresign, maxPendingValidity, minValidity, maxValidity } = settings;
  const { maxAppDataSize, maxUnreferencedDocuments, checkTimeout, cacheBytes, streams } = settings;
  const { vaultRelayer, hooksTrampoline, wrappedNative, eip1271, appDataHash } = settings;
  const { profile, errorCodes, balanceRule, vaultBalances, sameToken, wrappedToNative, maxOrderGas } = settings;
  const fees = await readFees(settings);
  const volumeFee = createVolumeFee(fees, wrappedNative ?? chainById(chainId)?.wrappedNative);
  const quotes = await quoteOptions({ ...settings, prices: getPrices(settings), chain, volumeFee });
  return {
    settlementContract: settings.settlementContract ?? deployment(environment, chainById(chainId)).settlement,
    auctions: {
      minValidity: settings.auctionMinValidity,
      maxPartnerFee: settings.maxPartnerFee,
      maxSignatureChecks: settings.maxSignatureChecks,
      surplusCapturingJitOrderOwners: settings.surplusCapturingJitOrderOwners,
      ...fees,
    },
    profile,
    rules: defined({ codes: errorCodes, balance: balanceRule, vaultBalances, sameToken, wrappedToNative }),
    limits: {
      minValidity,
      maxValidity,
      maxOrderGas,
      ...defined({ maxAppDataSize }),
      maxUnreferencedDocuments,
      maxOpenOrders: maxOpenOrders === 'off' ? undefined : maxOpenOrders,
      maxPendingOrders: maxPendingPresign === 'off' ? undefined : maxPendingPresign,
      maxPendingValidity: maxPendingValidity === 'off' ? undefined : maxPendingValidity,
    },
    checkTimeout,
    cacheBytes,
    eip1271,
    appDataHash,
    ...(settings.justInTimeOrders && { justInTimeOrders: settings.justInTimeOrders }),
    ...(await createChainOptions(settings)),
    ...(await documentOptions(settings.ipfsGateway)),
    ...(await upstreamOptions(settings)),
    ...defined({
      vaultRelayer,
      hooksTrampoline,
      wrappedNative,
      ownerLimits: settings.ownerLimits,
      quotes,
      retention: retentionOptions(settings),
      streams: streams && defined(streams),
    }),
  };
}

/** Returns the setting of prices. Those of test tokens must not replace the quotes of the upstream. */
function getPrices({ prices, upstream }: BookPlan['settings']) {
  return prices ?? (upstream === undefined ? undefined : 'off');
}

function retentionOptions({ retention, ...settings }: BookPlan['settings']): RetentionOptions | undefined {
  const days = defined({
    orders: retention,
    events: settings.retentionEvents,
    chainEvents: settings.retentionChainEvents,
    documents: settings.retentionDocuments,
  });
  return Object.keys(days).length === 0 ? undefined : days;
}

async function documentOptions(gateway: string | undefined) {
  return gateway === undefined ? {} : { documentSource: (await import('intentbook/ipfs')).ipfsGateway(gateway) };
}

/**
 * Creates the store of a location, not yet opened.
 *
 * @param options - Whether a thread writes to a file, or whether it is opened for reads only.
 */
export async function openStore(
  place: StoreLocation,
  options: { readonly writeThread?: boolean | 'auto'; readonly readOnly?: boolean } = {},
): Promise<Store> {
  switch (place.kind) {
    case 'memory':
      return (await import('intentbook/memory')).memoryStore();
    case 'file':
      return (await import('intentbook/sqlite')).sqliteStore({ path: place.path, ...options });
    case 'postgres': {
      const { url, readUrl, schema, migrate, connections, pooler } = place;
      const { postgresStore } = await import('intentbook/postgres');
      const traits = { ...defined({ readUrl }), ...toSessionOptions(pooler) };
      return postgresStore({ url, schema, migrate, connections, ...traits });
    }
  }
}

/** Opens the store of a book for a piece of work, and closes it. */
export async function withStore<T>(
  place: StoreLocation,
  readOnly: boolean,
  domain: Domain,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const store = await openStore(place, { readOnly });
  await store.open({ domain, clock: systemClock });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** Returns the options of a PostgreSQL store that depend on the pooler in front of it. */
export function toSessionOptions(pooler: Pooler | undefined) {
  if (pooler === undefined || pooler === 'detect') return {};
  return { prepare: pooler === 'session', listen: pooler === 'session' };
}

/** Returns the file, or the address of the database without secrets. `undefined`: in memory. */
export function getStoreName(place: StoreLocation): string | undefined {
  if (place.kind === 'memory') return undefined;
  return place.kind === 'file' ? place.path : `${getAddress(place.url)}, schema ${place.schema}`;
}

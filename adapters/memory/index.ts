import { type Domain, type NewEvent, type Store, type StoredEvent, StoreError } from 'intentbook';
// The store kit is loaded with the chain events only.
import {
  assertSameDomain,
  createInMemoryLeases,
  createStore,
  getPlacementVersion,
  lazy,
  type StoreOperations,
} from '#internal';
import { createMemoryAppData } from './app-data.ts';
import { createMemoryAuctions } from './auctions.ts';
import type { MemoryChain } from './chain.ts';
import { createMemoryOrders } from './orders.ts';
import { createMemoryQuotes } from './quotes.ts';
import { createMemoryTasks } from './tasks.ts';

export { memoryAccountStore } from './account-store.ts';

const logPruning = lazy(() => import('./prune-log.ts'));

/**
 * Creates a store in memory, without persistence: for tests and experiments, and as the reference to which other stores
 * are compared.
 */
export function memoryStore(): Store {
  let recorded: Domain | undefined;
  let now = () => 0;
  const log: StoredEvent[] = [];
  const last = () => log.at(-1)?.id ?? 0;
  const prunedThrough = () => last() - log.length;
  const documents = createMemoryAppData();
  const quotes = createMemoryQuotes();
  const auctions = createMemoryAuctions();
  const tasks = createMemoryTasks();

  function record(event: NewEvent): void {
    log.push({ id: last() + 1, ...event });
  }

  const orders = createMemoryOrders({
    documents,
    record,
    projectNewOrder: (uid, at) => chain?.projectNewOrder(uid, at),
    listEventsOfOrder: (uid) => chain?.listEventsOfOrder(uid) ?? [],
    getPlacementVersion: () => getPlacementVersion(last()),
  });
  /** Loaded on first use. Until then the store has no chain events. */
  let chain: MemoryChain | undefined;
  const loadChain = lazy(async () => {
    const { createMemoryChain } = await import('./chain.ts');
    chain = createMemoryChain({ find: orders.find, record, change: orders.change });
    return chain;
  });

  const operations: StoreOperations<Store> = {
    check: async () => {},
    close: () => {},
    orders: {
      ...orders,
      insert(inserts, options) {
        if (options?.transaction === undefined) return orders.insert(inserts);
        throw new StoreError('Unsupported', 'the memory store has no transactions to join');
      },
    },
    appData: documents,
    quotes,
    events: {
      last,
      after(id, limit) {
        const start = Math.max(0, id - prunedThrough());
        return log.slice(start, start + limit);
      },
      isNewest: (id) => id === last(),
      watch: () => () => {},
    },
    leases: createInMemoryLeases(() => now()),
    chain: {
      progress: () => loadChain.use(async (loaded) => loaded.progress()),
      blocks: () => loadChain.use(async (loaded) => loaded.blocks()),
      apply: (batch) => loadChain.use(async (loaded) => loaded.apply(batch)),
      adopt: (events, at, complete) => loadChain.use(async (loaded) => loaded.adopt(events, at, complete)),
      rollback: (request) => loadChain.use(async (loaded) => loaded.rollback(request)),
      trades: (query) => loadChain.use(async (loaded) => loaded.trades(query)),
      firstTrade: (token) => loadChain.use(async (loaded) => loaded.firstTrade(token)),
      settlements: (hash) => loadChain.use(async (loaded) => loaded.settlements(hash)),
      settlementsOfAuction: (id) => loadChain.use(async (loaded) => loaded.settlementsOfAuction(id)),
    },
    auctions,
    tasks,
    retention: {
      prunedThrough,
      pruneEvents: (request) => logPruning.use(async ({ pruneLog }) => pruneLog(log, request)),
      pruneChainEvents: (request) => loadChain.use(async (loaded) => loaded.prune(request)),
      pruneDocuments: ({ before, limit }) => documents.prune(before, limit),
    },
  };

  return createStore(
    { name: 'memory', durable: false, writers: 'single', verifiesBodies: true, hostTransaction: false },
    {
      name: 'memory store',
      inUse: 'this memory store is in use by another book',
      async start({ domain: { chainId, settlementContract }, clock }) {
        recorded ??= { chainId, settlementContract };
        assertSameDomain(recorded, { chainId, settlementContract });
        now = () => clock.now();
        return operations;
      },
    },
    ['scan'],
  );
}

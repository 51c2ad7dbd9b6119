import { type Domain, type NewEvent, type Store, type StoreContext, type StoredEvent, StoreError } from 'intentbook';
// The store kit is loaded with the chain events only.
import { assertSameDomain, createInMemoryLeases, getPlacementVersion, lazy } from '#internal';
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
  let opened: StoreContext | undefined;
  const log: StoredEvent[] = [];
  const last = () => log.at(-1)?.id ?? 0;
  const prunedThrough = () => last() - log.length;
  const documents = createMemoryAppData();
  const quotes = createMemoryQuotes();
  const auctions = createMemoryAuctions();
  const tasks = createMemoryTasks();
  const leases = createInMemoryLeases(() => context().clock.now());

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

  function context(): StoreContext {
    if (opened === undefined) throw new StoreError('Closed', 'the memory store is not open');
    return opened;
  }

  /** Converts a function to a method of a store, which rejects while the store is closed. */
  const method =
    <A extends readonly unknown[], R>(work: (...args: A) => R) =>
    async (...args: A): Promise<Awaited<R>> => {
      context();
      return await work(...args);
    };

  return {
    traits: { name: 'memory', durable: false, writers: 'single', verifiesBodies: true, hostTransaction: false },
    async open(next) {
      if (opened !== undefined) throw new StoreError('WriterActive', 'this memory store is in use by another book');
      const { domain } = next;
      recorded ??= { chainId: domain.chainId, settlementContract: domain.settlementContract };
      assertSameDomain(recorded, domain);
      opened = next;
    },
    async close() {
      opened = undefined;
    },
    check: method(() => {}),
    orders: {
      insert: method((inserts, options) => {
        if (options?.transaction === undefined) return orders.insert(inserts);
        throw new StoreError('Unsupported', 'the memory store has no transactions to join');
      }),
      get: method(orders.get),
      list: method(orders.list),
      scan: method(orders.scan),
      filterPlaced: method(orders.filterPlaced),
      cancel: method(orders.cancel),
      count: method(orders.count),
      expire: method(orders.expire),
      reinstate: method(orders.reinstate),
      prune: method(orders.prune),
      total: method(orders.total),
    },
    appData: { put: method(documents.put), get: method(documents.get) },
    quotes: { insert: method(quotes.insert), match: method(quotes.match), prune: method(quotes.prune) },
    events: {
      last: method(last),
      after: method((id, limit) => {
        const start = Math.max(0, id - prunedThrough());
        return log.slice(start, start + limit);
      }),
      isNewest(id) {
        context();
        return id === last();
      },
      watch: () => () => {},
    },
    leases: { acquire: (request) => leases.acquire(request), release: method(leases.release) },
    chain: {
      progress: method(() => loadChain.use(async (loaded) => loaded.progress())),
      apply: method((batch) => loadChain.use(async (loaded) => loaded.apply(batch))),
      adopt: method((events, at) => loadChain.use(async (loaded) => loaded.adopt(events, at))),
      rollback: method((request) => loadChain.use(async (loaded) => loaded.rollback(request))),
      trades: method((query) => loadChain.use(async (loaded) => loaded.trades(query))),
      firstTrade: method((token) => loadChain.use(async (loaded) => loaded.firstTrade(token))),
      settlements: method((hash) => loadChain.use(async (loaded) => loaded.settlements(hash))),
      settlementsOfAuction: method((id) => loadChain.use(async (loaded) => loaded.settlementsOfAuction(id))),
    },
    auctions: {
      insert: method(auctions.insert),
      get: method(auctions.get),
      record: method(auctions.record),
      competition: method(auctions.competition),
      competitions: method(auctions.competitions),
    },
    tasks: {
      get: method(tasks.get),
      due: method(tasks.due),
      write: method(tasks.write),
      count: method(tasks.count),
    },
    retention: {
      prunedThrough: method(prunedThrough),
      pruneEvents: method((request) => logPruning.use(async ({ pruneLog }) => pruneLog(log, request))),
      pruneChainEvents: method((request) => loadChain.use(async (loaded) => loaded.prune(request))),
      pruneDocuments: method(({ before, limit }) => documents.prune(before, limit)),
    },
  };
}

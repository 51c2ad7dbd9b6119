import type { Domain, NewEvent, Store, StoreContext, StoredEvent } from 'intentbook';
import { StoreError } from 'intentbook';
import { assertSameDomain, createInMemoryLeases, getPlacementVersion } from 'intentbook/store-kit';
import { createMemoryAppData } from './app-data.ts';
import { createMemoryAuctions } from './auctions.ts';
import { createMemoryChain } from './chain.ts';
import { createMemoryOrders } from './orders.ts';
import { createMemoryQuotes } from './quotes.ts';

export { memoryAccountStore } from './account-store.ts';

/**
 * A store that keeps everything in memory and forgets it with the process. For tests, for trying things out, and as
 * the oracle that other stores are compared with.
 */
export function memoryStore(): Store {
  let recorded: Domain | undefined;
  let opened: StoreContext | undefined;
  const log: StoredEvent[] = [];
  const documents = createMemoryAppData();
  const quotes = createMemoryQuotes();
  const auctions = createMemoryAuctions();
  const leases = createInMemoryLeases(() => context().clock.now());

  function record(event: NewEvent): void {
    log.push({ id: log.length + 1, ...event });
  }

  const orders = createMemoryOrders({
    documents,
    record,
    fold: (uid, at) => chain.fold(uid, at),
    eventsOfOrder: (uid) => chain.eventsOfOrder(uid),
    getPlacementVersion: () => getPlacementVersion(log.length),
  });
  const chain = createMemoryChain({ find: orders.find, record, placedBy: orders.ofAccount, change: orders.change });

  function context(): StoreContext {
    if (opened === undefined) throw new StoreError('Closed', 'the memory store is not open');
    return opened;
  }

  /** A verb as a store has it: rejected while the store is closed. */
  const verb =
    <A extends readonly unknown[], R>(work: (...args: A) => R) =>
    async (...args: A): Promise<Awaited<R>> => {
      context();
      return await work(...args);
    };

  return {
    traits: { name: 'memory', durable: false, writers: 'single', hostTransaction: false },
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
    check: verb(() => {}),
    orders: {
      insert: verb((inserts, options) => {
        if (options?.transaction === undefined) return orders.insert(inserts);
        throw new StoreError('Unsupported', 'the memory store has no transactions to join');
      }),
      get: verb(orders.get),
      list: verb(orders.list),
      cancel: verb(orders.cancel),
      count: verb(orders.count),
      expire: verb(orders.expire),
      prune: verb(orders.prune),
    },
    appData: { put: verb(documents.put), get: verb(documents.get) },
    quotes: { insert: verb(quotes.insert), match: verb(quotes.match), prune: verb(quotes.prune) },
    events: {
      last: verb(() => log.length),
      after: verb((id, limit) => log.slice(id, id + limit)),
      watch: () => () => {},
    },
    leases: { acquire: (request) => leases.acquire(request), release: verb(leases.release) },
    chain: {
      progress: verb(chain.progress),
      apply: verb(chain.apply),
      rollback: verb(chain.rollback),
      trades: verb(chain.trades),
      firstTrade: verb(chain.firstTrade),
      settlements: verb(chain.settlements),
      settlementsOfAuction: verb(chain.settlementsOfAuction),
    },
    auctions: {
      insert: verb(auctions.insert),
      get: verb(auctions.get),
      record: verb(auctions.record),
      competition: verb(auctions.competition),
      competitions: verb(auctions.competitions),
    },
  };
}

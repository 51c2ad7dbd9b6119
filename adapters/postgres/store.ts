import type { Store } from 'intentbook';
import { createStore, type StoreOperations } from 'intentbook/store-kit';
import { createAppDataTable } from './app-data.ts';
import { createAuctionTable } from './auctions.ts';
import { createChainStore } from './chain.ts';
import { createChainEventTable } from './chain-events.ts';
import type { PostgresSource } from './connection.ts';
import { adoptLog, createEventTable } from './events.ts';
import { createExpirySweeper, createReinstater } from './expiry.ts';
import { createLeaseTable } from './leases.ts';
import { createListing } from './listing.ts';
import { assertVisible, claimDomain } from './migrate.ts';
import { openPostgres, type PostgresAccess, type StoreSettings } from './open.ts';
import { createOrderTable } from './orders.ts';
import { createOwnerCounts } from './owner-counts.ts';
import { createOrderTotal, createPruner } from './pruning.ts';
import type { Query } from './query.ts';
import { createQuoteTable } from './quotes.ts';
import { createReaders } from './replica.ts';
import { createRetention } from './retention.ts';
import { BOOK_SCHEMA } from './schema.ts';
import { createTaskTable } from './tasks.ts';

export function createPostgresStore(source: PostgresSource, settings: StoreSettings): Store {
  return createStore(
    {
      name: 'postgres',
      durable: settings.durable,
      writers: 'many',
      verifiesBodies: true,
      hostTransaction: !hasSingleConnection(source),
    },
    {
      name: 'PostgreSQL store',
      inUse: 'this PostgreSQL store is in use by another book; create one for each book',
      start: ({ domain, clock }) =>
        openPostgres(source, settings, BOOK_SCHEMA, clock, assemble, async (session) => {
          await claimDomain(session, domain);
          await adoptLog(session);
        }),
    },
  );
}

const hasSingleConnection = (source: PostgresSource) => source.kind === 'pool' && source.pool.singleConnection === true;

function assemble(access: PostgresAccess): Omit<StoreOperations<Store>, 'close'> {
  const { clock, schemaName, session, replica, watch, hint } = access;
  const { schema } = session;
  const readers = createReaders(session, replica, clock);
  const owners = createOwnerCounts(session);
  const documents = createAppDataTable(session);
  const chainEvents = createChainEventTable(session);
  const chain = createChainStore(session, chainEvents, owners);
  const events = createEventTable(session, hint, replica?.catchUp);
  // Locking a row is the cheapest operation that fails on a read-only server. A locked table of orders fails too.
  const probe = session.prepare(
    `SELECT 1, EXISTS (SELECT FROM ${schema}.orders) FROM ${schema}.domain d FOR UPDATE OF d`,
  );
  async function checkAccess(run: Query): Promise<void> {
    await assertVisible(run, schemaName, BOOK_SCHEMA);
    await run(probe);
  }

  const orders = createOrderTable(session, owners, chain.projectNewOrders);
  const list = createListing(session);
  return {
    orders: {
      async insert(inserts, options) {
        const outcomes = await orders.insert(inserts, options);
        if (options?.transaction !== undefined) watch.onJoined();
        return outcomes;
      },
      get: (uids) => readers.read('read orders', (query) => orders.get(query, uids)),
      list: (query) => readers.read('list orders', (run) => list(run, query)),
      filterPlaced: (account, uids) =>
        readers.read('read orders placed on chain', (query) => orders.filterPlaced(query, account, uids)),
      cancel: orders.cancel,
      addQuote: orders.addQuote,
      count: owners.read,
      total: createOrderTotal(session),
      expire: createExpirySweeper(session, chainEvents),
      reinstate: createReinstater(session, chainEvents),
      prune: createPruner(session),
    },
    appData: {
      put: documents.put,
      async get(hash) {
        // A replica may lack a document that another process just stored, and a missing document is a rejection.
        const copied = await readers.read('read a document', (run) => documents.get(run, hash));
        if (copied !== undefined || replica === undefined) return copied;
        return session.read('read a document', (run) => documents.get(run, hash));
      },
    },
    quotes: createQuoteTable(session),
    events: { ...events, watch: watch.add },
    leases: createLeaseTable(session, () => clock.now()),
    chain: {
      ...chain,
      trades: (query) => readers.read('read trades', (run) => chainEvents.trades(run, query)),
      firstTrade: (token) =>
        readers.read('read the first trade of a token', (run) => chainEvents.firstTrade(run, token)),
      settlements: (hash) => session.read('read trades', (run) => chainEvents.settlements(run, hash)),
      settlementsOfAuction: (auctionId) =>
        session.read('read trades', (run) => chainEvents.settlementsOfAuction(run, auctionId)),
    },
    auctions: createAuctionTable(session),
    tasks: createTaskTable(session),
    retention: createRetention(session),
    check: () => session.call('be written to', checkAccess, { repeatable: true }),
  };
}

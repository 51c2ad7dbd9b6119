import type { Store, StoreContext } from 'intentbook';
import { createInMemoryLeases, createStore, type StoreOperations } from 'intentbook/store-kit';
import { createAuctionTable } from './auctions.ts';
import { createChainStore } from './chain.ts';
import type { SqliteConnection, SqliteSource } from './connection.ts';
import { createEventTable } from './events.ts';
import { createExpirySearch, createExpirySweeper, createReinstatementLog, createReinstater } from './expiry.ts';
import { createListing, createPlacedLookup } from './listing.ts';
import { createDatabaseOperations, openOperations } from './open.ts';
import { createOrderProjectionTable, createOwnerCounts } from './order-projection.ts';
import { createAppDataTable, createOrderTable } from './orders.ts';
import { createOrderTotal, createPruner } from './pruning.ts';
import { createQuoteTable } from './quotes.ts';
import { createRetention } from './retention.ts';
import type { Migration } from './schema.ts';
import { type Lease, openSession } from './session.ts';
import { createTaskTable } from './tasks.ts';

/** The operations of an open store. */
export type SqliteBook = ReturnType<typeof assembleBook>;

/** Creates a store. The operations are synchronous internally: a call has taken effect when it returns. */
export function createSqliteStore(
  source: SqliteSource,
  migrations: readonly Migration[],
  onRenewal?: (expires: number) => void,
): Store {
  return createStoreFromOperations(source, ({ domain, clock }) =>
    openOperations(source, { domain, migrations }, clock, assembleBook, onRenewal),
  );
}

/** Creates a store from operations that `start` creates when the store is opened. */
export function createStoreFromOperations(
  source: SqliteSource,
  start: (context: StoreContext) => Promise<StoreOperations<Store>>,
): Store {
  return createStore(
    {
      name: 'sqlite',
      durable: source.synchronous === 'FULL' || source.synchronous === 'EXTRA',
      writers: 'single',
      verifiesBodies: true,
      hostTransaction: source.kind === 'handle',
    },
    {
      name: 'SQLite store',
      inUse: 'this SQLite store is in use by another book of this process; create one store for each book',
      start,
    },
    ['getEncoded', 'scan'],
  );
}

/** Creates the operations on an open database. */
export function assembleBook(connection: SqliteConnection, lease: Lease, clock: StoreContext['clock']) {
  const session = openSession(connection, lease.assertHeld);
  const owners = createOwnerCounts(session);
  const documents = createAppDataTable(session);
  // On a host's handle, the host can write to the tables and roll back the store's writes.
  const events = createEventTable(session, connection.own ? lease.isExclusive : () => false, clock);
  const projection = createOrderProjectionTable(session, owners);
  const { chain, listEventsOfOrder, projectNewOrder } = createChainStore(session, projection, documents, events);
  const logReinstatement = createReinstatementLog(listEventsOfOrder, events);
  const hasExpired = createExpirySearch(session);
  const orders = createOrderTable(session, owners, documents, events, projection, projectNewOrder, logReinstatement);
  return {
    orders: {
      ...orders,
      ...createListing(session),
      filterPlaced: createPlacedLookup(session),
      count: owners.read,
      total: createOrderTotal(session),
      expire: createExpirySweeper(session, hasExpired, owners, listEventsOfOrder, events),
      reinstate: createReinstater(session, owners, logReinstatement),
      prune: createPruner(session),
    },
    appData: documents,
    // Only this store writes to the log.
    events: { ...events, watch: () => () => {} },
    chain,
    leases: createInMemoryLeases(() => clock.now()),
    quotes: createQuoteTable(session),
    auctions: createAuctionTable(session),
    tasks: createTaskTable(session),
    retention: createRetention(session),
    hasExpired,
    assertIntact: session.assertIntact,
    ...createDatabaseOperations(connection, lease, session),
  };
}

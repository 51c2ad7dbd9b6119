import type { EventStore, Store, StoreContext } from 'intentbook';
import { createInMemoryLeases, createStoreLifecycle } from 'intentbook/store-kit';
import { createAppDataTable } from './app-data.ts';
import { createAuctionTable } from './auctions.ts';
import { createChainStore } from './chain.ts';
import { connectSqlite, type SqliteConnection, type SqliteFile, type SqliteSource } from './connection.ts';
import { toStoreError } from './database-driver.ts';
import { createEventTable } from './events.ts';
import { createExpirySweeper, createReinstatementLog, createReinstater } from './expiry.ts';
import { createListing, createPlacedLookup } from './listing.ts';
import { assertOwnSchema, migrate } from './migrate.ts';
import { createOrderProjectionTable } from './order-projection.ts';
import { createOrderTable } from './orders.ts';
import { createOwnerCounts } from './owner-counts.ts';
import { createOrderTotal, createPruner } from './pruning.ts';
import { createQuoteTable } from './quotes.ts';
import { connectReadOnly, createReaderLease } from './read-only.ts';
import { createRetention } from './retention.ts';
import type { Migration } from './schema.ts';
import { openSession, transact } from './session.ts';
import { createTaskTable } from './tasks.ts';
import { acquireLease, type Lease } from './writer-lease.ts';

/** The operations of an open store. */
export type SqliteBook = ReturnType<typeof assembleBook>;

/** The operations without those that its parts call within their transactions. */
type SqliteOperations = Omit<SqliteBook, 'events' | 'documents' | 'chain' | 'assertIntact'> & {
  readonly events: Pick<SqliteBook['events'], 'last' | 'after' | 'isNewest'>;
  readonly documents: Omit<SqliteBook['documents'], 'refer'>;
  readonly chain: Omit<SqliteBook['chain'], 'listEventsOfOrder' | 'projectNewOrder'>;
};

/** The functions of `T`, also those in its objects, whose results may be promises. `isNewest` stays synchronous. */
type MaybeAsync<T> = {
  readonly [K in keyof T]: K extends 'isNewest'
    ? T[K]
    : T[K] extends (...parameters: infer A) => infer R
      ? (...parameters: A) => R | Promise<Awaited<R>>
      : MaybeAsync<T[K]>;
};

/** Creates a store. The operations are synchronous internally: a call has taken effect when it returns. */
export function createSqliteStore(
  source: SqliteSource,
  migrations: readonly Migration[],
  onRenewal?: (expires: number) => void,
): Store {
  const isReadOnly = source.kind === 'file' && source.readOnly === true;
  return createStoreFromOperations(source, (context) =>
    isReadOnly ? startReadOnly(source, context, migrations) : start(source, context, migrations, onRenewal),
  );
}

/** Opens a file beside the process that writes it. Writes are rejected. */
async function startReadOnly(source: SqliteFile, context: StoreContext, migrations: readonly Migration[]) {
  const connection = await connectReadOnly(source, context.domain, migrations.length, async () => {
    const writer = createSqliteStore({ ...source, readOnly: false }, migrations);
    await writer.open(context);
    await writer.close();
  });
  return assembleBook(connection, createReaderLease(connection), context.clock);
}

/**
 * Creates a store from operations that `start` creates when the store is opened.
 *
 * @param watch - Default: no hints, because only this store writes to the log.
 */
export function createStoreFromOperations(
  source: SqliteSource,
  start: (context: StoreContext) => Promise<MaybeAsync<SqliteOperations>>,
  watch: EventStore['watch'] = () => () => {},
): Store {
  const {
    parts: book,
    open,
    close,
  } = createStoreLifecycle<MaybeAsync<SqliteOperations>>(
    'SQLite store',
    'this SQLite store is in use by another book of this process; create one store for each book',
  );

  return {
    traits: {
      name: 'sqlite',
      durable: source.synchronous === 'FULL' || source.synchronous === 'EXTRA',
      writers: 'single',
      verifiesBodies: true,
      hostTransaction: source.kind === 'handle',
    },
    open: (context) => open(() => start(context)),
    close,
    check: async () => book().check(),
    orders: {
      insert: async (inserts, options) => book().orders.insert(inserts, options),
      get: async (uids) => book().orders.get(uids),
      getEncoded: async (uids) => book().orders.getEncoded(uids),
      list: async (query) => book().listing.list(query),
      scan: async (query, examine) => book().listing.scan(query, examine),
      filterPlaced: async (account, uids) => book().filterPlaced(account, uids),
      cancel: async (request) => book().orders.cancel(request),
      count: async (owner, now) => book().count(owner, now),
      total: async (endedBefore) => book().total(endedBefore),
      expire: async (now, limit) => book().expire(now, limit),
      reinstate: async (request) => book().reinstate(request),
      prune: async (request) => book().prune(request),
    },
    appData: {
      put: async (document, keep) => book().documents.put(document, keep),
      get: async (hash) => book().documents.get(hash),
    },
    quotes: {
      insert: async (quote) => book().quotes.insert(quote),
      match: async (query) => book().quotes.match(query),
      prune: async (now, limit) => book().quotes.prune(now, limit),
    },
    events: {
      last: async () => book().events.last(),
      after: async (id, limit) => book().events.after(id, limit),
      isNewest: (id) => book().events.isNewest(id),
      watch,
    },
    leases: {
      acquire: async (request) => book().leases.acquire(request),
      release: async (lease) => book().leases.release(lease),
    },
    chain: {
      progress: async () => book().chain.progress(),
      apply: async (batch) => book().chain.apply(batch),
      adopt: async (events, at) => book().chain.adopt(events, at),
      rollback: async (request) => book().chain.rollback(request),
      trades: async (query) => book().chain.trades(query),
      firstTrade: async (token) => book().chain.firstTrade(token),
      settlements: async (transactionHash) => book().chain.settlements(transactionHash),
      settlementsOfAuction: async (auctionId) => book().chain.settlementsOfAuction(auctionId),
    },
    auctions: {
      insert: async (...auction) => book().auctions.insert(...auction),
      get: async (id) => book().auctions.get(id),
      record: async (competition, keep) => book().auctions.record(competition, keep),
      competition: async (auctionId) => book().auctions.competition(auctionId),
      competitions: async (query) => book().auctions.competitions(query),
    },
    tasks: {
      get: async (kind, keys) => book().tasks.get(kind, keys),
      due: async (kind, before, limit) => book().tasks.due(kind, before, limit),
      write: async (changes) => book().tasks.write(changes),
      count: async (kind) => book().tasks.count(kind),
    },
    retention: {
      prunedThrough: async () => book().retention.prunedThrough(),
      pruneEvents: async (request) => book().retention.pruneEvents(request),
      pruneChainEvents: async (request) => book().retention.pruneChainEvents(request),
      pruneDocuments: async (request) => book().retention.pruneDocuments(request),
    },
  };
}

/** Connects and acquires the writer lease before the schema is changed. */
async function start(
  source: SqliteSource,
  { domain, clock }: StoreContext,
  migrations: readonly Migration[],
  onRenewal: ((expires: number) => void) | undefined,
) {
  const connection = await connectSqlite(source);
  let lease: Lease | undefined;
  try {
    lease = transact(connection.database, 'open', () => {
      assertOwnSchema(connection, domain, migrations.length);
      return acquireLease(connection, clock, onRenewal);
    });
    migrate(connection, migrations, lease.assertHeld);
    const book = assembleBook(connection, lease, clock);
    lease.startRenewal();
    return book;
  } catch (cause) {
    releaseAll(connection, lease);
    throw toStoreError('open', cause);
  }
}

/** Releases lease and connection after a failure. Errors of the release are ignored in favour of that failure. */
function releaseAll(connection: SqliteConnection, lease: Lease | undefined): void {
  try {
    lease?.release();
  } catch {
    // The lease expires.
  }
  connection.disconnect();
}

/** Creates the operations on an open database. */
export function assembleBook(connection: SqliteConnection, lease: Lease, clock: StoreContext['clock']) {
  const session = openSession(connection, lease.assertHeld);
  const owners = createOwnerCounts(session);
  const documents = createAppDataTable(session);
  // On a host's handle, the host can write to the tables and roll back the store's writes.
  const events = createEventTable(
    session,
    () => connection.own && lease.isExclusive(),
    () => clock.now(),
  );
  const projection = createOrderProjectionTable(session, owners);
  const chain = createChainStore(session, projection, documents, events);
  const logReinstatement = createReinstatementLog(chain.listEventsOfOrder, events);
  const orders = createOrderTable(
    session,
    owners,
    documents,
    events,
    projection,
    chain.projectNewOrder,
    logReinstatement,
  );
  return {
    orders,
    documents,
    events,
    chain,
    leases: createInMemoryLeases(() => clock.now()),
    quotes: createQuoteTable(session),
    auctions: createAuctionTable(session),
    tasks: createTaskTable(session),
    listing: createListing(session),
    filterPlaced: createPlacedLookup(session),
    expire: createExpirySweeper(session, owners, chain.listEventsOfOrder, events),
    reinstate: createReinstater(session, owners, logReinstatement),
    prune: createPruner(session),
    retention: createRetention(session),
    total: createOrderTotal(session),
    count: (...[owner, now]: Parameters<Store['orders']['count']>) => owners.read(owner, now),
    assertIntact: session.assertIntact,
    /** Commits an empty write transaction. The lease renewals show that pages can be written. */
    check(): void {
      lease.assertRenewed();
      session.write('be written to', () => {});
    },
    close(): void {
      try {
        lease.release();
      } finally {
        connection.disconnect();
      }
    },
  };
}

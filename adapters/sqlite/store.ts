import type { Store, StoreContext } from 'intentbook';
import { createInMemoryLeases, createStore, type StoreOperations } from 'intentbook/store-kit';
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
  const events = createEventTable(session, connection.own ? lease.isExclusive : () => false, () => clock.now());
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
    orders: {
      ...orders,
      ...createListing(session),
      filterPlaced: createPlacedLookup(session),
      count: owners.read,
      total: createOrderTotal(session),
      expire: createExpirySweeper(session, owners, chain.listEventsOfOrder, events),
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
    assertIntact: session.assertIntact,
    /** Commits an empty write transaction. The lease renewals show that pages can be written. */
    async check(): Promise<void> {
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

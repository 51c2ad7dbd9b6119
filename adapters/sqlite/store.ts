import type { Store, StoreContext } from 'intentbook';
import { leasesInMemory, storeLifetime } from 'intentbook/adapter';
import { documentsOf } from './app-data.ts';
import { auctionsOf } from './auctions.ts';
import { chainOf } from './chain.ts';
import type { Connection, Source } from './connection.ts';
import { connect } from './connection.ts';
import { fault } from './driver.ts';
import { eventsOf } from './events.ts';
import { expiryOver } from './expiry.ts';
import { listingOf } from './listing.ts';
import { assertOurs, migrate } from './migrate.ts';
import { judgedRowsOf } from './order-projection.ts';
import { ordersOf } from './orders.ts';
import { ownersOf } from './owner-counts.ts';
import { pruningOver } from './pruning.ts';
import { quotesOf } from './quotes.ts';
import type { Migration } from './schema.ts';
import { openSession, transact } from './session.ts';
import type { Lease } from './writer-lease.ts';
import { takeLease } from './writer-lease.ts';

/** Makes the store over a source. The verbs are synchronous inside: a call has happened when it returns. */
export function storeOver(source: Source, migrations: readonly Migration[]): Store {
  const {
    parts: book,
    open,
    close,
  } = storeLifetime<ReturnType<typeof assemble>>(
    'SQLite store',
    'this SQLite store is in use by another book of this process',
  );

  return {
    traits: {
      name: 'sqlite',
      durable: source.synchronous === 'FULL' || source.synchronous === 'EXTRA',
      writers: 'single',
      hostTransaction: source.kind === 'handle',
    },
    open: (context) => open(() => start(source, context, migrations)),
    close,
    check: async () => book().check(),
    orders: {
      insert: async (inserts, options) => book().orders.insert(inserts, options),
      get: async (uids) => book().orders.get(uids),
      list: async (query) => book().list(query),
      cancel: async (request) => book().orders.cancel(request),
      count: async (owner, now) => book().count(owner, now),
      expire: async (now, limit) => book().expire(now, limit),
      prune: async (before, limit) => book().prune(before, limit),
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
      watch: () => () => {},
    },
    leases: {
      acquire: async (request) => book().leases.acquire(request),
      release: async (lease) => book().leases.release(lease),
    },
    chain: {
      progress: async () => book().chain.progress(),
      apply: async (batch) => book().chain.apply(batch),
      rollback: async (request) => book().chain.rollback(request),
      trades: async (query) => book().chain.trades(query),
      firstTrade: async (token) => book().chain.firstTrade(token),
      settlements: async (transactionHash) => book().chain.settlements(transactionHash),
      settlementsOfAuction: async (auctionId) => book().chain.settlementsOfAuction(auctionId),
    },
    auctions: {
      insert: async (auction, keep) => book().auctions.insert(auction, keep),
      get: async (id) => book().auctions.get(id),
      record: async (competition, keep) => book().auctions.record(competition, keep),
      competition: async (auctionId) => book().auctions.competition(auctionId),
      competitions: async (limit) => book().auctions.competitions(limit),
    },
  };
}

/** Connects, becomes the writer, and only then touches the schema. */
async function start(source: Source, { domain, clock }: StoreContext, migrations: readonly Migration[]) {
  const connection = await connect(source);
  let lease: Lease | undefined;
  try {
    lease = transact(connection.database, 'open', () => {
      assertOurs(connection, domain, migrations.length);
      return takeLease(connection, clock);
    });
    migrate(connection, migrations, lease.assertHeld);
    const book = assemble(connection, lease, clock);
    lease.keep();
    return book;
  } catch (cause) {
    abandon(connection, lease);
    throw fault('open', cause);
  }
}

/** Lets go after a failure, which matters more than whatever fails now. */
function abandon(connection: Connection, lease: Lease | undefined): void {
  try {
    lease?.release();
  } catch {
    // It runs out by itself.
  }
  connection.disconnect();
}

function assemble(connection: Connection, lease: Lease, clock: StoreContext['clock']) {
  const session = openSession(connection, lease.assertHeld);
  const owners = ownersOf(session);
  const documents = documentsOf(session);
  // A host may write, and take back, what it likes on its own handle.
  const events = eventsOf(session, () => connection.own && lease.isSure());
  const rows = judgedRowsOf(session, owners);
  const chain = chainOf(session, rows, documents, events);
  const orders = ordersOf(session, owners, documents, events, rows, chain.fold);
  return {
    ...{ orders, documents, events, chain, leases: leasesInMemory(() => clock.now()) },
    quotes: quotesOf(session),
    auctions: auctionsOf(session),
    list: listingOf(session),
    expire: expiryOver(session, owners, chain.factsOf, events),
    prune: pruningOver(session),
    count: (...[owner, now]: Parameters<Store['orders']['count']>) => owners.read(owner, now),
    /** A write transaction, though an empty one. That pages can be written is what the lease's renewals show. */
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

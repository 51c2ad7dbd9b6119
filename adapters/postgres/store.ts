import { randomUUID } from 'node:crypto';
import type { Store, StoreContext } from 'intentbook';
import { storeLifetime } from 'intentbook/adapter';
import { documentsOf } from './app-data.ts';
import { auctionsOf } from './auctions.ts';
import { chainOf } from './chain.ts';
import { factsOf } from './chain-events.ts';
import type { Connection, Source } from './connection.ts';
import { assertServer, connect } from './connection.ts';
import { fault } from './driver.ts';
import { eventsOf } from './events.ts';
import { expiryOver } from './expiry.ts';
import { leasesOf } from './leases.ts';
import { listingOf } from './listing.ts';
import { assertSchema, claimDomain, migrate, quote } from './migrate.ts';
import { ordersOf } from './orders.ts';
import { ownersOf } from './owner-counts.ts';
import { pruningOver } from './pruning.ts';
import { quotesOf } from './quotes.ts';
import { readersOf, replicaOver } from './replica.ts';
import type { Migration } from './schema.ts';
import { openSession } from './session.ts';
import { watchOf } from './watch.ts';

export interface StoreSettings {
  readonly schema: string;
  readonly migrate: boolean;
  readonly durable: boolean;
  readonly named: boolean;
  readonly listen: boolean;
  readonly pollEvery: number;
}

/** Makes the store over a source. */
export function storeOver(source: Source, settings: StoreSettings, migrations: readonly Migration[]): Store {
  const { parts, run, open, close } = storeLifetime<ReturnType<typeof assemble>>(
    'PostgreSQL store',
    'this PostgreSQL store is in use by another book; make one for each book',
  );

  return {
    traits: { name: 'postgres', durable: settings.durable, writers: 'many', hostTransaction: true },
    open: (context) => open(() => start(source, settings, context, migrations)),
    close,
    check: () => run((book) => book.check()),
    orders: {
      insert: (inserts, options) => run((book) => book.orders.insert(inserts, options)),
      get: (uids) => run((book) => book.readers.read('read orders', (query) => book.orders.get(query, uids))),
      list: (query) => run((book) => book.readers.read('list orders', (query_) => book.list(query_, query))),
      cancel: (request) => run((book) => book.orders.cancel(request)),
      count: (owner, now) => run((book) => book.owners.read(owner, now)),
      expire: (now, limit) => run((book) => book.expire(now, limit)),
      prune: (before, limit) => run((book) => book.prune(before, limit)),
    },
    appData: {
      put: (document, keep) => run((book) => book.documents.put(document, keep)),
      get: (hash) => run((book) => book.readDocument(hash)),
    },
    quotes: {
      insert: (quote_) => run((book) => book.quotes.insert(quote_)),
      match: (query) => run((book) => book.quotes.match(query)),
      prune: (now, limit) => run((book) => book.quotes.prune(now, limit)),
    },
    events: {
      last: () => run((book) => book.events.last()),
      after: (id, limit) => run((book) => book.events.after(id, limit)),
      watch(hint) {
        return parts().watch.add(hint);
      },
    },
    chain: {
      progress: () => run((book) => book.chain.progress()),
      apply: (batch) => run((book) => book.chain.apply(batch)),
      rollback: (request) => run((book) => book.chain.rollback(request)),
      trades: (query) => run((book) => book.readers.read('read trades', (run_) => book.facts.trades(run_, query))),
      firstTrade: (token) =>
        run((book) =>
          book.readers.read('read the first trade of a token', (run_) => book.facts.firstTrade(run_, token)),
        ),
      settlements: (hash) =>
        run((book) => book.session.read('read trades', (run_) => book.facts.settlements(run_, hash))),
      settlementsOfAuction: (auctionId) =>
        run((book) => book.session.read('read trades', (run_) => book.facts.settlementsOfAuction(run_, auctionId))),
    },
    auctions: {
      insert: (auction, keep) => run((book) => book.auctions.insert(auction, keep)),
      get: (id) => run((book) => book.auctions.get(id)),
      record: (competition, keep) => run((book) => book.auctions.record(competition, keep)),
      competition: (auctionId) => run((book) => book.auctions.competition(auctionId)),
      competitions: (limit) => run((book) => book.auctions.competitions(limit)),
    },
    leases: {
      acquire: (request) => run((book) => book.leases.acquire(request)),
      release: (lease) => run((book) => book.leases.release(lease)),
    },
  };
}

/** Looks at everything before it changes anything, but for a migration that was asked for. */
async function start(
  source: Source,
  settings: StoreSettings,
  { domain, clock }: StoreContext,
  migrations: readonly Migration[],
) {
  const connection = await connect(source);
  try {
    const book = assemble(connection, settings, clock);
    await book.session.read('open', (run) => assertServer(run, settings.durable));
    if (settings.migrate) await migrate(connection.pool, settings.schema, migrations);
    await book.session.read('open', (run) => assertSchema(run, settings.schema, migrations));
    await claimDomain(book.session, domain);
    return book;
  } catch (cause) {
    await connection.disconnect().catch(() => {}); // what went wrong before matters more
    throw fault('open', cause);
  }
}

function assemble(connection: Connection, settings: StoreSettings, clock: StoreContext['clock']) {
  const { pool, readPool } = connection;
  const replica = readPool === undefined ? undefined : replicaOver(readPool);
  const schema = quote(settings.schema);
  const wait = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve));
  const commit = replica === undefined ? {} : { commit: replica.commit };
  const session = openSession(pool, { schema, named: settings.named, wait, ...commit });
  const readers = readersOf(session, replica);
  const hint = { channel: `intentbook.${settings.schema}`, signature: randomUUID() };
  const notify = session.prepare('SELECT pg_notify($1, $2)');
  const owners = ownersOf(session);
  const documents = documentsOf(session);
  const facts = factsOf(session);
  const chain = chainOf(session, facts, owners);
  const watch = watchOf(pool, clock, { ...hint, listen: settings.listen, every: settings.pollEvery });
  // In no transaction that writes: the server makes those that do wait for each other until they are on the disk.
  const events = eventsOf(
    session,
    () => session.read('tell of events', async (run) => void (await run(notify, hint.channel, hint.signature))),
    replica?.catchUp,
  );
  // A lock on a row is the cheapest thing that a server takes only when it can be written to.
  const touch = session.prepare(`SELECT 1 FROM ${schema}.domain FOR UPDATE`);

  return {
    ...{ session, readers, owners, documents, events, watch, facts, chain },
    orders: ordersOf(session, owners, chain.fold),
    quotes: quotesOf(session),
    auctions: auctionsOf(session),
    leases: leasesOf(session, () => clock.now()),
    list: listingOf(session),
    expire: expiryOver(session, facts),
    prune: pruningOver(session),
    async readDocument(hash: Parameters<Store['appData']['get']>[0]) {
      // One that another process has just stored may be missing on a copy, and to be missing is a refusal.
      const copied = await readers.read('read a document', (run) => documents.get(run, hash));
      if (copied !== undefined || replica === undefined) return copied;
      return session.read('read a document', (run) => documents.get(run, hash));
    },
    check: () => session.write('be written to', async (run) => void (await run(touch))),
    async close(): Promise<void> {
      watch.close();
      await connection.disconnect();
    },
  };
}

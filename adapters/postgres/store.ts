import { randomUUID } from 'node:crypto';
import type { Store, StoreContext } from 'intentbook';
import { createStoreLifecycle } from 'intentbook/store-kit';
import { createAppDataTable } from './app-data.ts';
import { createAuctionTable } from './auctions.ts';
import { createChainStore } from './chain.ts';
import { createChainEventTable } from './chain-events.ts';
import type { ConnectionTraits, PostgresConnection, PostgresSource } from './connection.ts';
import { assertServer, connectPostgres } from './connection.ts';
import { toStoreError } from './database-driver.ts';
import { adoptLog, createEventTable } from './events.ts';
import { createExpirySweeper, createReinstater } from './expiry.ts';
import { createLeaseTable } from './leases.ts';
import { createListing } from './listing.ts';
import { assertSchema, claimDomain, migrate, quote } from './migrate.ts';
import { createOrderTable } from './orders.ts';
import { createOwnerCounts } from './owner-counts.ts';
import { createOrderTotal, createPruner } from './pruning.ts';
import { createQuoteTable } from './quotes.ts';
import { createReaders, createReplica } from './replica.ts';
import { createRetention } from './retention.ts';
import { BOOK_SCHEMA } from './schema.ts';
import { openSession, withRetry } from './session.ts';
import { createTaskTable } from './tasks.ts';
import { createWatch } from './watch.ts';

export interface StoreSettings {
  readonly schema: string;
  readonly migrate: boolean;
  readonly durable: boolean;
  /** Whether statements are prepared by name. Default: unless a pooler is detected. */
  readonly named: boolean | undefined;
  /** Whether a connection listens. Default: unless a pooler is detected. */
  readonly listen: boolean | undefined;
  readonly pollInterval: number;
}

/** Creates a store. */
export function createPostgresStore(source: PostgresSource, settings: StoreSettings): Store {
  const { parts, run, open, close } = createStoreLifecycle<ReturnType<typeof assemble>>(
    'PostgreSQL store',
    'this PostgreSQL store is in use by another book; create one for each book',
  );

  return {
    traits: {
      name: 'postgres',
      durable: settings.durable,
      writers: 'many',
      verifiesBodies: true,
      hostTransaction: !hasSingleConnection(source),
    },
    open: (context) => open(() => start(source, settings, context)),
    close,
    check: () => run((book) => book.check()),
    orders: {
      insert: (inserts, options) => run((book) => book.orders.insert(inserts, options)),
      get: (uids) => run((book) => book.readers.read('read orders', (query) => book.orders.get(query, uids))),
      list: (query) => run((book) => book.readers.read('list orders', (run_) => book.list(run_, query))),
      filterPlaced: (account, uids) =>
        run((book) =>
          book.readers.read('read orders placed on chain', (query) => book.orders.filterPlaced(query, account, uids)),
        ),
      cancel: (request) => run((book) => book.orders.cancel(request)),
      count: (owner, now) => run((book) => book.owners.read(owner, now)),
      total: (endedBefore) => run((book) => book.total(endedBefore)),
      expire: (now, limit) => run((book) => book.expire(now, limit)),
      reinstate: (request) => run((book) => book.reinstate(request)),
      prune: (request) => run((book) => book.prune(request)),
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
      adopt: (events, at) => run((book) => book.chain.adopt(events, at)),
      rollback: (request) => run((book) => book.chain.rollback(request)),
      trades: (query) =>
        run((book) => book.readers.read('read trades', (run_) => book.chainEvents.trades(run_, query))),
      firstTrade: (token) =>
        run((book) =>
          book.readers.read('read the first trade of a token', (run_) => book.chainEvents.firstTrade(run_, token)),
        ),
      settlements: (hash) =>
        run((book) => book.session.read('read trades', (run_) => book.chainEvents.settlements(run_, hash))),
      settlementsOfAuction: (auctionId) =>
        run((book) =>
          book.session.read('read trades', (run_) => book.chainEvents.settlementsOfAuction(run_, auctionId)),
        ),
    },
    auctions: {
      insert: (...auction) => run((book) => book.auctions.insert(...auction)),
      get: (id) => run((book) => book.auctions.get(id)),
      record: (competition, keep) => run((book) => book.auctions.record(competition, keep)),
      competition: (auctionId) => run((book) => book.auctions.competition(auctionId)),
      competitions: (query) => run((book) => book.auctions.competitions(query)),
    },
    tasks: {
      get: (kind, keys) => run((book) => book.tasks.get(kind, keys)),
      due: (kind, before, limit) => run((book) => book.tasks.due(kind, before, limit)),
      write: (changes) => run((book) => book.tasks.write(changes)),
      count: (kind) => run((book) => book.tasks.count(kind)),
    },
    retention: {
      prunedThrough: () => run((book) => book.retention.prunedThrough()),
      pruneEvents: (request) => run((book) => book.retention.pruneEvents(request)),
      pruneChainEvents: (request) => run((book) => book.retention.pruneChainEvents(request)),
      pruneDocuments: (request) => run((book) => book.retention.pruneDocuments(request)),
    },
    leases: {
      acquire: (request) => run((book) => book.leases.acquire(request)),
      release: (lease) => run((book) => book.leases.release(lease)),
    },
  };
}

const hasSingleConnection = (source: PostgresSource) => source.kind === 'pool' && source.pool.singleConnection === true;

/** Checks server and schema before anything is changed, except for a requested migration. */
async function start(source: PostgresSource, settings: StoreSettings, { domain, clock }: StoreContext) {
  const connection = await connectPostgres(source);
  const requirements = { durable: settings.durable, isOwnPool: source.kind === 'url' };
  try {
    const traits = await withRetry(connection.pool, 'open', (client) => assertServer(client, requirements));
    const { schema } = settings;
    if (settings.migrate) await migrate(connection.pool, schema, BOOK_SCHEMA);
    const book = assemble(connection, resolveSettings(settings, traits), clock);
    await book.session.read('open', (run) => assertSchema(run, schema, BOOK_SCHEMA));
    await claimDomain(book.session, domain);
    await adoptLog(book.session);
    return book;
  } catch (cause) {
    await connection.disconnect().catch(() => {}); // the first failure is reported
    throw toStoreError('open', cause);
  }
}

/** Settings for the connections that were found. */
export type ResolvedSettings = Omit<StoreSettings, 'named' | 'listen'> &
  ConnectionTraits & { readonly named: boolean; readonly listen: boolean; readonly notify: boolean };

/**
 * Resolves the settings that depend on the connections. A pooler may lend another session to each transaction: a
 * prepared statement is then missing, and notifications are lost.
 */
export function resolveSettings(settings: StoreSettings, traits: ConnectionTraits): ResolvedSettings {
  const { named = traits.direct, listen = traits.direct } = settings;
  return { ...settings, ...traits, named, listen, notify: settings.listen !== false };
}

function assemble(connection: PostgresConnection, settings: ResolvedSettings, clock: StoreContext['clock']) {
  const { pool, readPool } = connection;
  const replica = readPool === undefined ? undefined : createReplica(readPool);
  const schema = quote(settings.schema);
  const wait = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve));
  const { named, direct, strict } = settings;
  const joinable = !connection.pool.singleConnection;
  const committed = replica === undefined ? {} : { committed: replica.committed };
  const session = openSession(pool, { schema, named, direct, strict, joinable, wait, ...committed });
  const readers = createReaders(session, replica, clock);
  const hint = { channel: `intentbook.${settings.schema}`, signature: randomUUID() };
  const owners = createOwnerCounts(session);
  const documents = createAppDataTable(session);
  const chainEvents = createChainEventTable(session);
  const chain = createChainStore(session, chainEvents, owners);
  const watch = createWatch(pool, clock, { ...hint, listen: settings.listen, pollInterval: settings.pollInterval });
  const channel = settings.notify ? hint.channel : null;
  const events = createEventTable(session, { ...hint, channel }, replica?.catchUp);
  // Locking a row is the cheapest operation that fails on a read-only server. A locked table of orders fails too.
  const probe = session.prepare(
    `SELECT 1, EXISTS (SELECT FROM ${schema}.orders) FROM ${schema}.domain d FOR UPDATE OF d`,
  );

  return {
    session,
    readers,
    owners,
    documents,
    events,
    watch,
    chainEvents,
    chain,
    orders: createOrderTable(session, owners, chain.projectNewOrders),
    quotes: createQuoteTable(session),
    auctions: createAuctionTable(session),
    tasks: createTaskTable(session),
    leases: createLeaseTable(session, () => clock.now()),
    list: createListing(session),
    expire: createExpirySweeper(session, chainEvents),
    reinstate: createReinstater(session, chainEvents),
    prune: createPruner(session),
    retention: createRetention(session),
    total: createOrderTotal(session),
    async readDocument(hash: Parameters<Store['appData']['get']>[0]) {
      // A replica may lack a document that another process just stored, and a missing document is a rejection.
      const copied = await readers.read('read a document', (run) => documents.get(run, hash));
      if (copied !== undefined || replica === undefined) return copied;
      return session.read('read a document', (run) => documents.get(run, hash));
    },
    check: () => session.call('be written to', async (run) => void (await run(probe)), { repeatable: true }),
    async close(): Promise<void> {
      watch.close();
      await connection.disconnect();
    },
  };
}

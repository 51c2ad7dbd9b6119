import { randomUUID } from 'node:crypto';
import type { Store, StoreContext } from 'intentbook';
import { createStore, type StoreOperations } from 'intentbook/store-kit';
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
import { assertSchema, assertVisible, claimDomain, migrate, quote } from './migrate.ts';
import { createOrderTable } from './orders.ts';
import { createOwnerCounts } from './owner-counts.ts';
import { createOrderTotal, createPruner } from './pruning.ts';
import type { Query } from './query.ts';
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
      start: (context) => start(source, settings, context),
    },
  );
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
    const { session, operations } = assemble(connection, resolveSettings(settings, traits), clock);
    await session.read('open', (run) => assertSchema(run, schema, BOOK_SCHEMA));
    await claimDomain(session, domain);
    await adoptLog(session);
    return operations;
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
  async function checkAccess(run: Query): Promise<void> {
    await assertVisible(run, settings.schema, BOOK_SCHEMA);
    await run(probe);
  }

  const orders = createOrderTable(session, owners, chain.projectNewOrders);
  const list = createListing(session);
  const operations: StoreOperations<Store> = {
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
    async close(): Promise<void> {
      watch.close();
      await connection.disconnect();
    },
  };
  return { session, operations };
}

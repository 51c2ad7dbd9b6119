import type { EventStore, InsertOptions, OrderInsert, Store, StoreContext } from 'intentbook';
import { StoreError } from 'intentbook';
import type { StoreOperations } from 'intentbook/store-kit';
import { connectReader, type SqliteConnection, type SqliteSource } from './connection.ts';
import { toStoreError } from './database-driver.ts';
import { toUnknownOutcomes } from './orders.ts';
import { createReaderLease } from './read-only.ts';
import { assembleBook, createStoreFromOperations, type SqliteBook } from './store.ts';
import type { WriteOperations } from './write-operations.ts';

/** Runs the operations that write, on a separate connection. */
export interface SqliteWriter {
  call<Name extends keyof WriteOperations>(
    name: Name,
    ...parameters: Parameters<WriteOperations[Name]>
  ): ReturnType<WriteOperations[Name]>;
  /** Returns whether nothing can have been written to the file since the previous call. */
  isUnchanged(): boolean;
  /** Called after an insert that has joined a transaction of the host. Absent if inserts cannot. */
  onJoined?(): void;
  end(): Promise<void>;
}

/**
 * Creates a store that reads with a second connection, and so sees committed rows only. Reads see a write at the latest
 * when its promise is fulfilled.
 */
export function createStoreWithReader(
  source: SqliteSource,
  createWriter: (context: StoreContext) => SqliteWriter,
  watch: EventStore['watch'] = () => () => {},
): Store {
  return createStoreFromOperations(source, (context) => start(source, context, createWriter(context), watch));
}

async function start(
  source: SqliteSource,
  { domain, clock }: StoreContext,
  writer: SqliteWriter,
  watch: EventStore['watch'],
) {
  let reader: SqliteConnection | undefined;
  let isOpen = false;
  try {
    await writer.call('open', domain);
    isOpen = true;
    reader = await connectReader(source);
    return withWrites(assembleBook(reader, createReaderLease(reader, writer.isUnchanged), clock), writer, watch);
  } catch (cause) {
    reader?.disconnect();
    if (isOpen) await writer.call('close').catch(() => {}); // releases the writer lease
    await writer.end();
    throw toStoreError('open its tables', cause);
  }
}

/**
 * Combines the operations that read with those that write. Each operation is listed: for a new one, the compiler
 * requires a decision where it runs.
 */
function withWrites(book: SqliteBook, writer: SqliteWriter, watch: EventStore['watch']): StoreOperations<Store> {
  const { call } = writer;
  const run =
    <Name extends keyof WriteOperations>(name: Name) =>
    (...parameters: Parameters<WriteOperations[Name]>) => {
      // The reader may have found the file damaged, which the writer does not know.
      book.assertIntact();
      return call(name, ...parameters);
    };
  const { orders, appData, events, leases, chain, quotes, auctions, tasks, retention } = book;
  return {
    orders: {
      get: orders.get,
      getEncoded: orders.getEncoded,
      list: orders.list,
      scan: orders.scan,
      filterPlaced: orders.filterPlaced,
      count: orders.count,
      total: orders.total,
      insert: async (inserts: readonly OrderInsert[], options?: InsertOptions) => {
        book.assertIntact();
        if (options?.transaction === undefined) {
          // If a thread ends during an insert, the orders may be stored or not.
          return call('insertOrders', inserts).catch((error) => toUnknownOutcomes(error, inserts));
        }
        if (writer.onJoined === undefined) {
          throw new StoreError('Unsupported', 'a store on its own file has no host transaction to join');
        }
        const outcomes = await call('insertOrders', inserts, options);
        writer.onJoined();
        return outcomes;
      },
      cancel: run('cancelOrders'),
      addQuote: run('addQuote'),
      expire: async (now, limit) => (book.hasExpired(now) ? run('expireOrders')(now, limit) : 0),
      reinstate: run('reinstateOrders'),
      prune: run('pruneOrders'),
    },
    appData: { get: appData.get, put: run('putDocument') },
    quotes: {
      match: quotes.match,
      insert: run('insertQuote'),
      prune: run('pruneQuotes'),
    },
    events: { last: events.last, after: events.after, isNewest: events.isNewest, watch },
    leases,
    chain: {
      progress: chain.progress,
      blocks: chain.blocks,
      trades: chain.trades,
      firstTrade: chain.firstTrade,
      settlements: chain.settlements,
      settlementsOfAuction: chain.settlementsOfAuction,
      apply: run('applyEvents'),
      adopt: run('adoptEvents'),
      rollback: run('rollBackEvents'),
    },
    auctions: {
      get: auctions.get,
      competition: auctions.competition,
      lastCompetition: auctions.lastCompetition,
      competitions: auctions.competitions,
      insert: run('insertAuction'),
      record: run('recordCompetition'),
    },
    tasks: { get: tasks.get, due: tasks.due, count: tasks.count, write: run('writeTasks') },
    retention: {
      prunedThrough: retention.prunedThrough,
      pruneEvents: run('pruneEvents'),
      pruneChainEvents: run('pruneChainEvents'),
      pruneDocuments: run('pruneDocuments'),
    },
    check: run('check'),
    async close() {
      // The last connection of a file removes its write-ahead log, and only the writer can.
      book.close();
      try {
        await call('close');
      } finally {
        await writer.end();
      }
    },
  };
}

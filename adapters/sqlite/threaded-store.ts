import type { InsertOptions, InsertOutcome, OrderInsert, Store, StoreContext } from 'intentbook';
import { StoreError } from 'intentbook';
import type { SqliteConnection, SqliteFile } from './connection.ts';
import { connectReader } from './connection.ts';
import { toStoreError } from './database-driver.ts';
import type { SqliteBook } from './store.ts';
import { assembleBook, createStoreFromOperations } from './store.ts';
import type { WriteOperations } from './write-operations.ts';
import type { WriteThread } from './write-thread.ts';
import { startWriteThread, WORKER_FILE } from './write-thread.ts';
import type { Lease } from './writer-lease.ts';

/**
 * Creates a store that writes in a thread, so that no commit blocks the event loop. Reads use a second connection in
 * the calling thread. They see a write at the latest when its promise is fulfilled.
 */
export function createThreadedStore(source: SqliteFile, file = WORKER_FILE): Store {
  return createStoreFromOperations(source, (context) => start(source, context, file));
}

async function start(source: SqliteFile, { domain, clock }: StoreContext, file: URL) {
  const thread = startWriteThread(source, file);
  let reader: SqliteConnection | undefined;
  try {
    await thread.call('open', domain);
    reader = await connectReader(source);
    return withWrites(assembleBook(reader, createReaderLease(thread, reader), clock), thread);
  } catch (cause) {
    reader?.disconnect();
    await thread.end();
    throw toStoreError('open', cause);
  }
}

/**
 * Combines the operations that read with those of the thread. Each operation is listed: for a new one, the compiler
 * requires a decision where it runs.
 */
function withWrites(book: SqliteBook, thread: WriteThread) {
  const { call } = thread;
  const run =
    <Name extends keyof WriteOperations>(name: Name) =>
    (...parameters: Parameters<WriteOperations[Name]>) =>
      call(name, ...parameters);
  const { documents, events, chain, quotes, auctions, retention } = book;
  return {
    orders: {
      get: book.orders.get,
      getEncoded: book.orders.getEncoded,
      insert: (inserts: readonly OrderInsert[], options?: InsertOptions) => {
        if (options?.transaction === undefined) return insert(thread, inserts);
        throw new StoreError('Unsupported', 'a store on its own file has no host transaction to join');
      },
      cancel: run('cancelOrders'),
    },
    listing: book.listing,
    filterPlaced: book.filterPlaced,
    count: book.count,
    total: book.total,
    expire: run('expireOrders'),
    reinstate: run('reinstateOrders'),
    prune: run('pruneOrders'),
    documents: {
      get: documents.get,
      put: run('putDocument'),
    },
    quotes: {
      match: quotes.match,
      insert: run('insertQuote'),
      prune: run('pruneQuotes'),
    },
    events: { last: events.last, after: events.after, isNewest: events.isNewest },
    leases: book.leases,
    chain: {
      progress: chain.progress,
      trades: chain.trades,
      firstTrade: chain.firstTrade,
      settlements: chain.settlements,
      settlementsOfAuction: chain.settlementsOfAuction,
      apply: run('applyEvents'),
      rollback: run('rollBackEvents'),
    },
    auctions: {
      get: auctions.get,
      competition: auctions.competition,
      competitions: auctions.competitions,
      insert: run('insertAuction'),
      record: run('recordCompetition'),
    },
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
        await thread.end();
      }
    },
  };
}

/** If the thread ends during an insert, the orders may be stored or not. */
async function insert({ call }: WriteThread, inserts: readonly OrderInsert[]): Promise<InsertOutcome[]> {
  try {
    return await call('insertOrders', inserts);
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== 'OutcomeUnknown') throw error;
    return inserts.map(() => ({ status: 'unknown' }));
  }
}

/** The thread holds the writer lease. Reads only check whether the end of the log may have changed. */
function createReaderLease({ isUnchanged }: WriteThread, reader: SqliteConnection): Lease {
  return {
    assertHeld() {
      throw new StoreError('Unavailable', `the connection to "${reader.database.name}" is for reads only`);
    },
    assertRenewed() {},
    isExclusive: isUnchanged,
    startRenewal() {},
    release() {},
  };
}

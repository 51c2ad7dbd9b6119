import type { EventStore, Store, StoreContext } from 'intentbook';
import { StoreError } from 'intentbook';
import { connectReader, type SqliteConnection, type SqliteSource } from './connection.ts';
import { toStoreError } from './database-driver.ts';
import { toUnknownOutcomes } from './orders.ts';
import { createReaderLease } from './read-only.ts';
import type { BookOperations } from './session.ts';
import { assembleBook, createStoreFromOperations, type SqliteBook } from './store.ts';
import { WRITES, type WriteName, type WrittenPart } from './write-operations.ts';

/** Runs the operations that write, on a separate connection. */
export interface SqliteWriter {
  call(name: WriteName, ...parameters: readonly unknown[]): Promise<unknown>;
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

/** Combines the operations that read with those that write. */
function withWrites(book: SqliteBook, writer: SqliteWriter, watch: EventStore['watch']): BookOperations {
  const { call } = writer;
  const run = async (name: WriteName, ...parameters: readonly unknown[]) => {
    // The reader may have found the file damaged, which the writer does not know.
    book.assertIntact();
    return call(name, ...parameters);
  };

  function withWritesOf<Part extends WrittenPart>(part: Part): BookOperations[Part] {
    const writes = WRITES[part].map((method) => [
      method,
      (...parameters: readonly unknown[]) => run(`${part}.${method}` as WriteName, ...parameters),
    ]);
    return { ...book[part], ...Object.fromEntries(writes) };
  }

  const orders = withWritesOf('orders');
  return {
    orders: {
      ...orders,
      async insert(inserts, options) {
        if (options?.transaction === undefined) {
          try {
            return await orders.insert(inserts);
          } catch (error) {
            return toUnknownOutcomes(error, inserts); // if a thread ends, the orders may be stored or not
          }
        }
        if (writer.onJoined === undefined) {
          throw new StoreError('Unsupported', 'a store on its own file has no host transaction to join');
        }
        const outcomes = await orders.insert(inserts, options);
        writer.onJoined();
        return outcomes;
      },
      expire: (now, limit) => (book.hasExpired(now) ? orders.expire(now, limit) : 0),
    },
    appData: withWritesOf('appData'),
    quotes: withWritesOf('quotes'),
    events: { ...book.events, watch },
    leases: book.leases,
    chain: withWritesOf('chain'),
    auctions: withWritesOf('auctions'),
    tasks: withWritesOf('tasks'),
    retention: withWritesOf('retention'),
    check: async () => void (await run('check')),
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

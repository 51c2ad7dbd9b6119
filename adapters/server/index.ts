import { resolve } from 'node:path';
import type { OrderBook, Store } from 'intentbook';
import { createApi, createOrderBook } from 'intentbook';
import { CHAINS, refuseUnknownOptions } from 'intentbook/adapter';
import { createHardenedServer } from './http.ts';
import { quoteOptions } from './prices.ts';
import { DEFAULT_RATE_LIMIT, gateOptions, type RateLimit } from './rate-limit.ts';

/** How long requests that run may still take when a server is closed, in milliseconds. */
const GRACE = 10_000;

export interface ServeOptions {
  /** 0 picks a free one. Default 8080. */
  readonly port?: number;
  /** The address to listen on. Default `127.0.0.1`. */
  readonly host?: string;
  /** The chain, by its path segment: `mainnet`, `xdai`, `arbitrum_one`… Default `sepolia`. */
  readonly chain?: string;
  /** The database file, or `:memory:`. Default `intentbook.sqlite`. */
  readonly db?: string;
  /** A connection string of a PostgreSQL database, instead of a file: `postgres://user:password@host:5432/database`. */
  readonly postgres?: string;
  /** A connection string of a streaming copy of that database, to read from. */
  readonly readPostgres?: string;
  /** The schema of the tables in PostgreSQL. Default `intentbook`. */
  readonly schema?: string;
  /** Whether to bring that schema up to date first. Otherwise an older one is refused. */
  readonly migrate?: boolean;
  /** Live orders that one owner may have. Default 1000. */
  readonly maxOpenOrders?: number | 'off';
  /** Live orders of one owner that wait for their signature on chain. Default 100. */
  readonly maxPendingPresign?: number | 'off';
  /** What one client may ask for, by its address. Default: 50 reads and 10 writes a second, 32 streams. */
  readonly rateLimit?: RateLimit | 'off';
  /** Proxies whose `X-Forwarded-For` is believed: `127.0.0.1`, `10.0.0.0/8`. Default: none. */
  readonly trustedProxies?: readonly string[];
  /**
   * A JSON file of fixed prices to quote by, or `off`: by token its worth in native atoms for an atom, as decimal text,
   * or `{ "price", "decimals" }` in native coins for a whole token. Default: test tokens on Sepolia, none elsewhere.
   */
  readonly prices?: string;
  /** Engines to ask for quotes, each at its own URL (see `solverHttp`). */
  readonly solvers?: readonly string[];
  /** Wei for one unit of gas, as a decimal number. Default: one gwei. */
  readonly gasPrice?: string;
  /** A store to use instead of a file. */
  readonly store?: Store;
}

/** A server that listens. */
export interface RunningServer {
  /** Where it listens: `http://127.0.0.1:8080`. */
  readonly url: string;
  readonly book: OrderBook;
  /** The chain by its path segment. */
  readonly chain: string;
  /** Where the orders are kept: the absolute path of the file, or the database's address without its secrets. */
  readonly database: string | undefined;
  /** Takes no more connections, lets what runs come to its end, 10 s at most, and closes the book. */
  close(): Promise<void>;
}

const OPTIONS = [
  'port',
  'host',
  'chain',
  'db',
  'postgres',
  'readPostgres',
  'schema',
  'migrate',
  'maxOpenOrders',
  'maxPendingPresign',
  'rateLimit',
  'trustedProxies',
  'prices',
  'solvers',
  'gasPrice',
  'store',
] as const satisfies readonly (keyof ServeOptions)[];

/**
 * Runs the standalone server within a program: a book on a database file, served over HTTP. It takes no signals and
 * prints nothing; the command line does.
 *
 * @throws TypeError for an option that is unknown or malformed, `StoreError` when the store refuses, node's own error
 * when the address cannot be listened on.
 */
export async function serve(options: ServeOptions = {}): Promise<RunningServer> {
  refuseUnknownOptions('serve', options, OPTIONS);
  const { port = 8080, host = '127.0.0.1', chain = 'sepolia' } = options;
  const { maxOpenOrders = 1000, maxPendingPresign = 100, rateLimit = DEFAULT_RATE_LIMIT } = options;
  const chainId = CHAINS.find(({ segment }) => segment === chain)?.chainId;
  if (chainId === undefined)
    throw new TypeError(`serve: chain must be one of ${CHAINS.map(({ segment }) => segment).join(', ')}`);
  const database = options.store === undefined ? placeOf(options) : undefined;

  const quotes = await quoteOptions({ ...options, chain });
  const book = createOrderBook({
    chainId,
    ...(quotes === undefined ? {} : { quotes }),
    store: options.store ?? (await storeOf(options)),
    limits: {
      maxOpenOrders: maxOpenOrders === 'off' ? undefined : maxOpenOrders,
      maxPendingOrders: maxPendingPresign === 'off' ? undefined : maxPendingPresign,
    },
  });
  const gate = gateOptions(rateLimit, options.trustedProxies);
  const { nodeHandler } = await import('intentbook/node-http');
  const server = createHardenedServer(nodeHandler(createApi(book, { probes: true, ...gate })));
  await book.start();
  try {
    const url = await server.listen(port, host);
    const close = once(async () => {
      await server.close(GRACE);
      await book.close();
    });
    return { url, book, chain, database, close };
  } catch (error) {
    await book.close();
    throw error;
  }
}

const DB = 'intentbook.sqlite';

async function storeOf({ db = DB, postgres: url, readPostgres, schema, migrate }: ServeOptions): Promise<Store> {
  if (url !== undefined) {
    const { postgresStore } = await import('intentbook/postgres');
    return postgresStore({
      url,
      ...(readPostgres === undefined ? {} : { readUrl: readPostgres }),
      ...(schema === undefined ? {} : { schema }),
      ...(migrate === undefined ? {} : { migrate }),
    });
  }
  if (db === ':memory:') return (await import('intentbook/memory')).memoryStore();
  return (await import('intentbook/sqlite')).sqliteStore({ path: resolve(db) });
}

function placeOf({ db = DB, postgres, schema = 'intentbook' }: ServeOptions): string | undefined {
  if (postgres === undefined) return db === ':memory:' ? undefined : resolve(db);
  const { host, pathname } = new URL(postgres);
  return `PostgreSQL at ${host}${pathname}, schema ${schema}`;
}

function once(task: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= task();
    return done;
  };
}

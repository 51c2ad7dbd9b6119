import type { Accounts, OrderBook, Store } from 'intentbook';
import { createAccountApi, createApi } from 'intentbook';
import { jsonResponse, VERSION } from '#internal';
import { planServer } from './config/plan.ts';
import type { BookSettings, ServerSettings } from './config/schema.ts';
import { BOOK_KEYS } from './config/schema.ts';
import { closableStreams } from './http/closable-streams.ts';
import { composeServer } from './http/compose.ts';
import type { Exchange } from './http/exchange.ts';
import { observedApi } from './http/exchange.ts';
import type { HardenedServer } from './http/hardened-server.ts';
import { createHardenedServer } from './http/hardened-server.ts';
import { describe, isReferenceServed, referencePages } from './http/openapi-pages.ts';
import { frontPage, overview, readiness } from './http/overview.ts';
import { createRouteNames } from './http/route-names.ts';
import { createMetrics, metricsServer } from './metrics.ts';
import { openAccounts } from './open-accounts.ts';
import type { OpenBook } from './open-books.ts';
import { openBook } from './open-books.ts';
import { toRateLimitOptions } from './rate-limit.ts';

export { ConfigError } from './config/config-errors.ts';
export type { BookSettings, ServerSettings } from './config/schema.ts';
export type { Exchange } from './http/exchange.ts';
export type { OpenBook } from './open-books.ts';

/** How long requests that run may still take when a server is closed, in milliseconds. */
const GRACE = 10_000;

/** A book to serve. */
export interface BookOptions extends BookSettings {
  /** A store to use instead of a file. */
  readonly store?: Store;
}

/** What a configuration file says, or, without `books`, what is to be said of a single book, served at the root. */
export interface ServeOptions extends BookOptions, Omit<ServerSettings, 'books'> {
  readonly books?: readonly BookOptions[];
  /** Where relative file names begin. Default: the current directory. */
  readonly folder?: string;
  /** Is told of every request that was answered. */
  readonly onExchange?: (exchange: Exchange) => void;
}

/** A server that listens. */
export interface RunningServer {
  /** Where it listens: `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Where Prometheus reads, when it does. */
  readonly metricsUrl: string | undefined;
  /** The books that it serves, in the order of the settings. */
  readonly deployments: readonly OpenBook[];
  /** The first of them. */
  readonly book: OrderBook;
  /** Their account interface, when it is not switched off. */
  readonly accounts?: Accounts;
  /**
   * Ends event streams, takes no more connections, lets what else runs come to its end, 10 s at most, and closes the
   * books.
   */
  close(): Promise<void>;
}

/** A server of a single book is named after nobody. */
const SINGLE = { path: '/', db: 'intentbook.sqlite', schema: 'intentbook' } as const;

/**
 * Runs the standalone server within a program: books in their stores, served over HTTP. It takes no signals and prints
 * nothing; the command line does.
 *
 * @throws SettingsError, a TypeError, for options that are unknown or malformed, `StoreError` when a store rejects,
 * node's own error when the address cannot be listened on.
 */
export async function serve(options: ServeOptions = {}): Promise<RunningServer> {
  const { folder = '.', onExchange, ...said } = options;
  const { settings, stores } = separate(said);
  const plan = planServer(settings, folder);
  const { port, host, rateLimit, trustedProxies, operatorToken, metricsPort, metricsHost = host } = plan.settings;
  // One budget for all books: they share the machine.
  const gate = toRateLimitOptions(rateLimit, trustedProxies);
  const apiOptions = { ...gate, ...(operatorToken === undefined ? {} : { operatorToken }) };
  const deployments: OpenBook[] = [];
  const servers: HardenedServer[] = [];
  let closing = false;
  let accounts: Accounts | undefined;

  async function listen(server: HardenedServer, at: number, where: string): Promise<string> {
    const url = await server.listen(at, where);
    servers.push(server);
    return url;
  }

  try {
    for (const [i, book] of plan.books.entries()) deployments.push(await openBook(book, stores[i]));
    const hosted = stores.some((store) => store !== undefined);
    accounts = await openAccounts({ plan, deployments, hosted, folder });
    const opened = accounts;
    const explorer = plan.settings.explorer ? (await import('intentbook/explorer')).createExplorer() : undefined;
    const document = describe(deployments);
    const docs = isReferenceServed();
    const composed = composeServer(
      [
        ...(accounts === undefined ? [] : [{ path: '/', api: createAccountApi(accounts, gate), aside: true }]),
        ...deployments.map(({ path, book }) => ({ path, api: createApi(book, apiOptions) })),
        ...(explorer === undefined ? [] : [{ path: '/', api: explorer, aside: true }]),
      ],
      {
        '/': (request) => frontPage(request, explorer, overview(VERSION, deployments, docs)),
        '/ready': () => readiness(deployments, closing),
        '/live': () => jsonResponse(200, { live: true }),
        ...referencePages(document),
      },
    );
    const api = closableStreams(composed);
    const metrics =
      metricsPort === undefined ? undefined : await createMetrics(deployments, () => api.openStreams, accounts);
    const nameOf = createRouteNames(
      document,
      deployments.map(({ path }) => path),
    );
    const observed = observedApi(api, (exchange) => {
      metrics?.exchanged(exchange, nameOf(exchange.path));
      onExchange?.(exchange);
    });
    const { nodeHandler } = await import('intentbook/node-http');
    const url = await listen(createHardenedServer(nodeHandler(observed)), port, host);
    const metricsUrl = metrics && (await listen(metricsServer(metrics), metricsPort ?? 0, metricsHost));
    const close = once(async () => {
      closing = true;
      api.closeStreams();
      await Promise.all(servers.map((server) => server.close(GRACE)));
      await opened?.close();
      await closeAll(deployments);
    });
    return {
      url,
      metricsUrl,
      deployments,
      book: firstOf(deployments).book,
      ...(opened && { accounts: opened }),
      close,
    };
  } catch (error) {
    await Promise.all(servers.map((server) => server.close(0)));
    await accounts?.close();
    await closeAll(deployments);
    throw error;
  }
}

/** Takes the stores out of the settings, which are plain data, and makes a list of a single book. */
function separate(options: Omit<ServeOptions, 'folder' | 'onExchange'>) {
  const { books, ...rest } = options;
  if (books === undefined) {
    const { store, ...plain } = rest;
    const members = Object.entries(plain).filter(([, value]) => value !== undefined);
    const of = (key: string) => BOOK_KEYS.includes(key);
    const single = Object.fromEntries(members.filter(([key]) => of(key)));
    const others = Object.fromEntries(members.filter(([key]) => !of(key)));
    // A file of its own or a database, whichever it names.
    const { db, schema, path } = SINGLE;
    const place = single['postgres'] === undefined ? { db } : { schema };
    return { settings: { ...others, books: [{ path, ...place, ...single }] }, stores: [store] };
  }
  const stores = books.map(({ store }) => store);
  return { settings: { ...rest, books: books.map(({ store: _, ...book }) => book) }, stores };
}

async function closeAll(deployments: readonly OpenBook[]): Promise<void> {
  await Promise.all(deployments.map(({ book }) => book.close()));
}

function firstOf([first]: readonly OpenBook[]): OpenBook {
  if (first === undefined) throw new Error('a server has one book at least');
  return first;
}

function once(task: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= task();
    return done;
  };
}

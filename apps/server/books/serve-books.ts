import { type Api, createApi, type Limiter } from 'intentbook';
import { type Accounts, createAccountApi } from 'intentbook/accounts';
import { createExplorer, type ExplorerBook } from 'intentbook/explorer';
import { nodeHandler } from 'intentbook/node-http';
import { assertKnownOptions } from '#internal';
import { createHardenedServer } from '../http/hardened-server.ts';
import { describe, isReferenceServed } from '../http/openapi-pages.ts';
import { createServerPages } from '../http/overview.ts';
import { createServerApi } from '../http/server-api.ts';

/** A book that its host has started. */
export interface ServedBook extends Omit<ExplorerBook, 'chain' | 'tokens' | 'hideCompetitions'> {
  /** The path segment of its chain, such as `sepolia`. */
  readonly chain: string;
}

/** Settings of a server of open books. */
export interface ServeBooksOptions {
  readonly books: readonly ServedBook[];
  /** The account interface of the books, which its host has started. */
  readonly accounts?: Accounts;
  /** 0: any free port. Default: 0. */
  readonly port?: number;
  /** Default: `127.0.0.1`. */
  readonly host?: string;
  /** Token of operators. Default: none, and restricted routes are closed. */
  readonly operatorToken?: string;
  /** Limiter of requests. Default: none. */
  readonly limiter?: Limiter;
  /** Other interfaces, by the path that each is served at. */
  readonly apis?: Readonly<Record<string, Api>>;
}

/** A server of books that belong to its host. */
export interface BookServer {
  /** Such as `http://127.0.0.1:8080`. */
  readonly url: string;
  /** The URL of the API reference, if the package swagger-ui-dist is installed. */
  readonly docsUrl: string | undefined;
  /** Ends event streams, closes connections, and leaves the books open. */
  close(): Promise<void>;
}

/** Time that running requests have when a server is closed, in milliseconds. */
const GRACE = 1_000;

/** Serves books that the host has started, with the explorer, the API reference and readiness. */
export async function serveBooks(options: ServeBooksOptions): Promise<BookServer> {
  assertKnownOptions('serveBooks', options, ['books', 'accounts', 'port', 'host', 'operatorToken', 'limiter', 'apis']);
  if (!Array.isArray(options.books)) throw new TypeError('serveBooks: books must be a list of { book }');
  const { accounts, port = 0, host = '127.0.0.1', operatorToken, limiter } = options;
  const limits = limiter === undefined ? {} : { limiter };
  const books = options.books.map(({ path = '/', environment = 'production', ...rest }) => {
    return { ...rest, path, environment, database: undefined, nodes: [], close: async () => {} };
  });
  const apiOptions = { ...limits, ...(operatorToken === undefined ? {} : { operatorToken }) };
  const docs = isReferenceServed();
  const explorer = createExplorer({ books: options.books, accounts, docs: docs || 'openapi', ...limits });
  let closing = false;
  const api = createServerApi({
    mounted: [
      { path: '/', api: createAccountApi(accounts, apiOptions), aside: true },
      ...books.map(({ path, book }) => ({ path, api: createApi(book, apiOptions) })),
      ...Object.entries(options.apis ?? {}).map(([path, api]) => ({ path, api, aside: true })),
      { path: '/', api: explorer, aside: true },
    ],
    pages: createServerPages(
      { deployments: books, accounts, explorer, docs, document: () => describe(books), isClosing: () => closing },
      limits,
    ),
  });
  const server = createHardenedServer(nodeHandler(api, { reusesMemory: true }));
  const url = await server.listen(port, host);
  return {
    url,
    docsUrl: docs ? `${url}/docs` : undefined,
    async close() {
      closing = true;
      api.closeStreams();
      await server.close(GRACE);
    },
  };
}

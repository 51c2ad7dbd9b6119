import type { Api, ApiRequest, ApiResponse, OrderBook, RateLimitOptions } from 'intentbook';
import type { Accounts } from 'intentbook/accounts';
import { assertKnownOptions, type Environment } from '#internal';
import { createDataApi, getBookPath } from './data.ts';
import { createPageFiles } from './files.ts';
import type { KnownToken } from './known-tokens.ts';

export type { KnownToken } from './known-tokens.ts';

/** A book of the explorer. */
export interface ExplorerBook {
  readonly book: OrderBook;
  /** Path of the book, relative to the explorer's mount. Default: `/`. */
  readonly path?: string;
  /** Name of the chain. Default: the path segment of the chain id, such as `sepolia`. */
  readonly chain?: string;
  /** Default: `production`. */
  readonly environment?: Environment;
  /** Tokens that the chain client cannot describe, or whose symbols are wrong. Default: none. */
  readonly tokens?: readonly KnownToken[];
  /** Names of accounts that the page shows, such as solvers, by address. Default: none. */
  readonly names?: Readonly<Record<string, string>> | undefined;
  /** Logos of tokens as `data:` URLs of images, by address. Default: a circle with a colour of the address. */
  readonly logos?: Readonly<Record<string, string>> | undefined;
  /** Base URL of a block explorer. `false`: no links. Default: the block explorer of the chain, if it is known. */
  readonly blockExplorer?: string | false;
  /** Whether competitions are shown only after their deadline block. Default: false. */
  readonly hideCompetitions?: boolean | undefined;
}

/** The web push channel that browsers subscribe to. */
export interface ExplorerWebPush {
  /** `publicKey` of the channel: 65 bytes in base64url. */
  readonly publicKey: string;
  /** `affiliates.domainName` of the account interface, in which accounts sign. Default: `Service Affiliate`. */
  readonly domainName?: string;
}

/** Options of the explorer. The rate limit applies to its data, and not to its files. */
export interface ExplorerOptions extends RateLimitOptions {
  readonly books: readonly ExplorerBook[];
  /** The account interface at the same mount, for notifications and dollar prices. Default: neither is shown. */
  readonly accounts?: Accounts | undefined;
  /** The web push channel of `accounts`, for notifications in the browser. Default: they are not offered. */
  readonly webPush?: ExplorerWebPush | undefined;
  /**
   * Whether the API reference is served at `docs` and `openapi.json`, relative to the mount. `openapi`: only the
   * latter. Default: false.
   */
  readonly docs?: boolean | 'openapi';
}

/** Web page that shows the orders of a server's books. */
export interface Explorer extends Api {
  /** Returns the page itself, for the root of a server. */
  page(request: ApiRequest): ApiResponse;
}

/**
 * Creates a web page that shows the orders of books, with its data. It is served at `/explorer` below any prefix, next
 * to the interfaces of the books. The page requests only its own origin and needs no build step.
 *
 * ```ts
 * const explorer = createExplorer({ books: [{ book }] });
 * app.use('/sepolia', nodeHandler(composeApis(explorer, createApi(book)))); // the page is at /sepolia/explorer
 * ```
 *
 * @throws TypeError if an option is unknown, no book is given, two books have one path, or `webPush` is given without
 * `accounts`.
 */
export function createExplorer(options: ExplorerOptions): Explorer {
  assertKnownOptions('createExplorer', options, [
    'books',
    'accounts',
    'webPush',
    'docs',
    'limiter',
    'trustedProxies',
    'identifyClient',
  ]);
  if (!Array.isArray(options.books) || options.books.length === 0) {
    throw new TypeError('books must be a list with at least one book, got none');
  }
  const paths = new Set(options.books.map(getBookPath));
  if (paths.size < options.books.length) throw new TypeError('books must have different paths');
  if (options.webPush !== undefined && options.accounts === undefined) {
    throw new TypeError('webPush must be given together with accounts');
  }
  const serve = createPageFiles();
  const data = createDataApi(options);
  return {
    handlesPath: (path) => path === '/explorer' || path.startsWith('/explorer/'),
    async handle(request) {
      const name = request.path.replace(/^\/explorer/, '');
      if (name.startsWith('/data/')) return data.handle(request);
      // The page names its files relative to a path without a trailing slash.
      if (name === '/') return { status: 308, headers: { location: '../explorer' } };
      return serve(name === '' ? 'index.html' : name.slice(1), request);
    },
    page: (request) => serve('index.html', request),
  };
}

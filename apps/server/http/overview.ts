import type { Api, ApiRequest, ApiResponse, RateLimitOptions, Readiness } from 'intentbook';
import type { Accounts } from 'intentbook/accounts';
import type { Explorer } from 'intentbook/explorer';
import type { OpenApiDocument } from 'intentbook/openapi';
import { isTypeRequested, jsonResponse, VERSION } from '#internal';
import type { OpenBook } from '../books/open-books.ts';
import { referencePages } from './openapi-pages.ts';
import { chargePages, createServerApi, type Page } from './server-api.ts';

/** Lists the books with their domains and paths, and the path of the API reference. */
function createServerOverview(version: string, deployments: readonly OpenBook[], docs: boolean): ApiResponse {
  const books = deployments.map(({ path, chain, environment, book: { chainId, settlementContract } }) => ({
    path,
    chain,
    environment,
    chainId,
    settlementContract,
    api: `${path === '/' ? '' : path}/api/v1`,
  }));
  const atRoot = books.find(({ path }) => path === '/');
  return jsonResponse(200, {
    name: 'intentbook',
    version,
    // A server with one book responds as the book does.
    ...(atRoot && { chainId: atRoot.chainId, settlementContract: atRoot.settlementContract, api: atRoot.api }),
    ...(docs && { docs: '/docs' }),
    books,
  });
}

/** Responds with the page to browsers, which request HTML, and with the overview to other clients. */
function frontPage(request: ApiRequest, explorer: Explorer | undefined, overview: ApiResponse): ApiResponse {
  if (explorer === undefined) return overview;
  const overviewResponse = isTypeRequested(request, 'text/html') ? explorer.page(request) : overview;
  return { ...overviewResponse, headers: { ...overviewResponse.headers, vary: 'accept' } };
}

/**
 * Returns whether a book can serve: 200, or 500 with the checks. With the query `all`, whether all books and the
 * account interface can serve. One failed book must not make a load balancer take the others out of service. The checks
 * of a book that is not at the root start with its path.
 */
async function readiness(
  { deployments, accounts }: ServerPagesOptions,
  closing: boolean,
  query: string,
): Promise<ApiResponse> {
  const books = await Promise.all(
    deployments.map(async ({ path, book }) => {
      const { ready, checks } = await book.ready();
      const prefix = path === '/' ? '' : `${path} `;
      return { ready, checks: Object.entries(checks).map(([name, state]) => [prefix + name, state] as const) };
    }),
  );
  const shared = await accounts?.ready();
  const isStrict = new URLSearchParams(query).has('all');
  const isReady = isStrict
    ? shared?.ready !== false && books.every(({ ready }) => ready)
    : books.some(({ ready }) => ready);
  const ready = !closing && isReady;
  const checks = { ...Object.fromEntries(books.flatMap((book) => book.checks)), ...shared?.checks };
  const document = { ready, checks: closing ? { server: 'closing', ...checks } : checks };
  return ready ? jsonResponse(200, document) : notReady(500, document);
}

function notReady(status: number, document: Readiness): ApiResponse {
  const error = { errorType: 'InternalServerError', description: 'not ready' };
  return jsonResponse(status, { ...error, ...document }, { 'retry-after': '1' });
}

/** Creates the interface of a server whose books are not open yet. Its process is alive, and not ready. */
export function createStartingApi(): Api {
  const state = { ready: false, checks: { server: 'starting' } };
  return createServerApi({
    mounted: [{ path: '/', aside: true, api: { handle: async () => notReady(503, state) } }],
    pages: {
      '/ready': () => notReady(500, state),
      '/live': live,
    },
  });
}

export interface ServerPagesOptions {
  readonly deployments: readonly OpenBook[];
  readonly accounts: Pick<Accounts, 'ready'> | undefined;
  readonly explorer: Explorer | undefined;
  /** Whether the library of the API reference is installed. */
  readonly docs: boolean;
  readonly document: () => OpenApiDocument;
  readonly isClosing: () => boolean;
}

/** Creates the pages of a server. All but the probes are charged to their clients. */
export function createServerPages(
  options: ServerPagesOptions,
  rateLimit: RateLimitOptions,
): Readonly<Record<string, Page>> {
  const { deployments, explorer, docs, document, isClosing } = options;
  return {
    '/ready': ({ query }) => readiness(options, isClosing(), query),
    '/live': live,
    ...chargePages(
      {
        '/': (request) => frontPage(request, explorer, createServerOverview(VERSION, deployments, docs)),
        '/favicon.ico': favicon,
        ...referencePages(document),
      },
      rateLimit,
    ),
  };
}

const live = () => jsonResponse(200, { live: true });

/** Responds to the icon that browsers request of every server: the pages name their own. */
const favicon = (): ApiResponse => ({ status: 204, headers: { 'cache-control': 'max-age=86400' } });

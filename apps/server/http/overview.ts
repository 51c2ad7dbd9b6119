import type { ApiRequest, ApiResponse } from 'intentbook';
import type { Explorer } from 'intentbook/explorer';
import { jsonResponse } from '#internal';
import type { OpenBook } from '../books/open-books.ts';

/** Lists the books with their domains and paths, and the path of the API reference. */
export function overview(version: string, deployments: readonly OpenBook[], docs: boolean): ApiResponse {
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
export function frontPage(request: ApiRequest, explorer: Explorer | undefined, overview: ApiResponse): ApiResponse {
  if (explorer === undefined) return overview;
  const overviewResponse = request.header('accept')?.includes('text/html') ? explorer.page(request) : overview;
  return { ...overviewResponse, headers: { ...overviewResponse.headers, vary: 'accept' } };
}

/**
 * Returns whether all books can serve: 200, or 500 with the checks. The checks of a book that is not at the root
 * start with its path.
 */
export async function readiness(deployments: readonly OpenBook[], closing: boolean): Promise<ApiResponse> {
  const states = await Promise.all(
    deployments.map(async ({ path, book }) => {
      const { ready, checks } = await book.ready();
      const prefix = path === '/' ? '' : `${path} `;
      return { ready, checks: Object.entries(checks).map(([name, state]) => [prefix + name, state] as const) };
    }),
  );
  const ready = !closing && states.every((state) => state.ready);
  const checks = Object.fromEntries(states.flatMap((state) => state.checks));
  const document = { ready, checks: closing ? { server: 'closing', ...checks } : checks };
  if (ready) return jsonResponse(200, document);
  const error = { errorType: 'InternalServerError', description: 'not ready' };
  return jsonResponse(500, { ...error, ...document }, { 'retry-after': '1' });
}

/** Responds to the icon that browsers request of every server: the pages name their own. */
export function favicon(): ApiResponse {
  return { status: 204, headers: { 'cache-control': 'max-age=86400' } };
}

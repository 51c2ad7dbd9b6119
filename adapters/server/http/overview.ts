import type { ApiRequest, ApiResponse } from 'intentbook';
import type { Explorer } from 'intentbook/explorer';
import { jsonResponse } from '#internal';
import type { OpenBook } from '../open-books.ts';

/** Says what is deployed: every book with its domain and the path of its interface (decision 2.29), and where the reference is. */
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
    // As the book itself would answer, for whoever asks a server of one book.
    ...(atRoot && { chainId: atRoot.chainId, settlementContract: atRoot.settlementContract, api: atRoot.api }),
    ...(docs && { docs: '/docs' }),
    books,
  });
}

/** A browser, which asks for HTML by name, gets the page; everyone else the overview. */
export function frontPage(request: ApiRequest, explorer: Explorer | undefined, overview: ApiResponse): ApiResponse {
  if (explorer === undefined) return overview;
  const answer = request.header('accept')?.includes('text/html') ? explorer.page(request) : overview;
  return { ...answer, headers: { ...answer.headers, vary: 'accept' } };
}

/**
 * Whether all of the books can serve: 200, or 500 with what is missing. The checks of a book that is not at the root
 * begin with its path.
 */
export async function readiness(deployments: readonly OpenBook[], closing: boolean): Promise<ApiResponse> {
  const states = await Promise.all(
    deployments.map(async ({ path, book }) => {
      const { ready, checks } = await book.ready();
      const prefix = path === '/' ? '' : `${path} `;
      return { ready, checks: Object.entries(checks).map(([name, said]) => [prefix + name, said] as const) };
    }),
  );
  const ready = !closing && states.every((state) => state.ready);
  const checks = Object.fromEntries(states.flatMap((state) => state.checks));
  const document = { ready, checks: closing ? { server: 'closing', ...checks } : checks };
  if (ready) return jsonResponse(200, document);
  const error = { errorType: 'InternalServerError', description: 'not ready' };
  return jsonResponse(500, { ...error, ...document }, { 'retry-after': '1' });
}

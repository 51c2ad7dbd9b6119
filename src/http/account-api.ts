import { AccountError } from '../account-tools/account-error.ts';
import type { Accounts } from '../accounts/index.ts';
import { assertNotAborted } from '../concurrency/abort.ts';
import { OrderBookError } from '../errors.ts';
import { describeClosed } from '../ports/store.ts';
import { assertFunctions, assertKnownOptions, requireFunctions } from '../validation/options.ts';
import { accountRoutes } from './account-routes/index.ts';
import type { AccountRoute } from './account-routes/route.ts';
import type { CorsOption } from './cors.ts';
import { type Api, type ApiRequest, type ApiResponse, jsonResponse, readJson } from './message.ts';
import type { RateLimitOptions, RequestMeter } from './rate-limit.ts';
import { allowHeader, connectionState, decodeParam, type Match, serveRoutes } from './route.ts';

/** Options of the account interface. */
export interface AccountApiOptions extends RateLimitOptions {
  /**
   * Which web origins may read responses, for an application that sets no CORS headers. `false`: the interface sets
   * none, for an application that does. Default: any origin.
   */
  readonly cors?: CorsOption;
  /** The token of the routes for operators, below `/restricted`. Default: none, and they respond 403. */
  readonly operatorToken?: string;
}

/**
 * Creates the HTTP interface of accounts. It is served at the root of a server, beside the interfaces of books. The
 * body of a rejection is `{ message }`.
 *
 * @param accounts - `undefined`: the server has no account store, and every route responds 503.
 *
 * ```ts
 * nodeHandler(composeApis(createAccountApi(accounts), createApi(book)));
 * ```
 */
export function createAccountApi(accounts: Accounts | undefined, options: AccountApiOptions = {}): Api {
  assertKnownOptions('createAccountApi', options, [
    'cors',
    'operatorToken',
    'limiter',
    'trustedProxies',
    'identifyClient',
  ]);
  if (accounts !== undefined)
    requireFunctions('createAccountApi: accounts.subscriptions', accounts?.subscriptions, ['create']);
  assertFunctions('createAccountApi: limiter', options.limiter, ['take', 'open']);
  return serveRoutes({
    routes: accountRoutes(),
    rateLimit: options,
    cors: options.cors,
    call: async (match, request, client, meter) => {
      if (accounts === undefined) throw new AccountError(503, 'Accounts are not enabled on this server');
      return call(accounts, request, match, { client, meter, operatorToken: options.operatorToken });
    },
    reject,
    fail: (error) => {
      const reason = describeClosed(error);
      return reason === undefined ? message(500, 'Internal server error', 1) : message(503, reason, 1);
    },
    report: accounts?.reportError ?? (() => {}),
  });
}

/** Paths of a book, of accounts and of the explorer. */
const ROOTS = ['/api', '/accounts', '/explorer'];

/**
 * Combines interfaces: a path goes to the first that handles it, otherwise to the last, which responds 404.
 *
 * @throws TypeError for two interfaces of one kind, such as two books: no request would reach the second one.
 */
export function composeApis(first: Api, ...others: readonly Api[]): Api {
  const all = [first, ...others];
  for (const api of all) requireFunctions('composeApis: interface', api, ['handle']);
  for (const root of ROOTS) {
    if (all.filter((api) => api.handlesPath?.(root)).length < 2) continue;
    throw new TypeError(`composeApis: two interfaces have the path ${root}; mount each one with its own prefix`);
  }
  const findApi = (path: string) => all.find((api) => api.handlesPath?.(path) ?? true);
  return {
    handlesPath: (path) => findApi(path) !== undefined,
    handle: (request) => (findApi(request.path) ?? all.at(-1) ?? first).handle(request),
  };
}

async function call(
  accounts: Accounts,
  request: ApiRequest,
  { route, param }: Match<AccountRoute>,
  { client, meter, operatorToken }: { client: () => string; meter: RequestMeter; operatorToken: string | undefined },
): Promise<ApiResponse> {
  route.before?.({ request, operatorToken });
  const { bodyLimit: limit, checkBody: check } = route;
  const body = limit === undefined ? undefined : await readJson(request, { limit, meter, check });
  const signal = connectionState(request);
  assertNotAborted(signal);
  return route.handle({
    accounts,
    request,
    work: { signal, meter, client },
    body,
    query: new URLSearchParams(request.query),
    param: (name) => decodeParam(name, param(name)),
  });
}

function reject(error: unknown): ApiResponse | undefined {
  if (error instanceof AccountError) return message(error.status, error.message, error.retryAfter);
  if (!(error instanceof OrderBookError)) return undefined;
  const retryAfter = error.retryable ? Number(error.data?.['retryAfter'] ?? 1) : undefined;
  const response = message(error.status, error.message, retryAfter);
  return { ...response, headers: { ...response.headers, ...allowHeader(error) } };
}

function message(status: number, text: string, retryAfter?: number): ApiResponse {
  return jsonResponse(status, { message: text }, retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) });
}

import { AccountError } from '../accounts/account-error.ts';
import type { Accounts } from '../accounts/accounts.ts';
import { OrderBookError } from '../errors.ts';
import { assertKnownOptions } from '../validation/options.ts';
import { accountRoutes } from './account-routes/index.ts';
import type { AccountRoute } from './account-routes/route.ts';
import { readJson } from './body.ts';
import type { Api, ApiRequest, ApiResponse } from './message.ts';
import type { RateLimitOptions } from './rate-limit.ts';
import { jsonResponse } from './response.ts';
import type { Match } from './router.ts';
import { allowHeader, decodeParam, serveRoutes } from './serve.ts';

/**
 * The HTTP interface of accounts (contract, "{bff_url}"), which stands at the root of a server, beside the books' own.
 * Rejections are `{message}`.
 *
 * ```ts
 * nodeHandler(composeApis(createAccountApi(accounts), createApi(book)));
 * ```
 */
export function createAccountApi(accounts: Accounts, options: RateLimitOptions = {}): Api {
  assertKnownOptions('createAccountApi', options, ['limiter', 'trustedProxies']);
  return serveRoutes({
    routes: accountRoutes(),
    gate: options,
    call: (match, request) => call(accounts, request, match),
    reject,
    failure: message(500, 'Internal server error', 1),
    report: accounts.reportError,
  });
}

/**
 * Joins interfaces: each path goes to the first that owns it, and to the last when none does, whose 404 it is then.
 */
export function composeApis(first: Api, ...others: readonly Api[]): Api {
  const all = [first, ...others];
  const ownerOf = (path: string) => all.find((api) => api.handlesPath?.(path) ?? true);
  return {
    handlesPath: (path) => ownerOf(path) !== undefined,
    handle: (request) => (ownerOf(request.path) ?? all.at(-1) ?? first).handle(request),
  };
}

async function call(
  accounts: Accounts,
  request: ApiRequest,
  { route, param }: Match<AccountRoute>,
): Promise<ApiResponse> {
  const body = route.bodyLimit === undefined ? undefined : await readJson(request, route.bodyLimit);
  return route.handle({
    accounts,
    request,
    body,
    query: new URLSearchParams(request.query),
    param: (name) => decodeParam(name, param(name)),
  });
}

function reject(error: unknown): ApiResponse | undefined {
  if (error instanceof AccountError) return message(error.status, error.message, error.retryAfter);
  if (!(error instanceof OrderBookError)) return undefined;
  const wait = error.retryable ? Number(error.data?.['retryAfter'] ?? 1) : undefined;
  const answer = message(error.status, error.message, wait);
  return { ...answer, headers: { ...answer.headers, ...allowHeader(error) } };
}

function message(status: number, text: string, retryAfter?: number): ApiResponse {
  return jsonResponse(status, { message: text }, retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) });
}

import { OrderBookError } from '../errors.ts';

import type { Api, ApiRequest, ApiResponse } from './message.ts';
import type { RateLimitOptions } from './rate-limit.ts';
import { createRateLimitGuard } from './rate-limit.ts';
import { CORS_HEADERS, joinHeaders, PREFLIGHT_HEADERS } from './response.ts';
import type { Endpoint } from './route.ts';
import { getRequestCost } from './route.ts';
import type { Match, Router } from './router.ts';
import { createRouter } from './router.ts';

/** An interface: its routes, and how it speaks. */
export interface RouteHost<R extends Endpoint> {
  readonly routes: readonly R[];
  /** Answers a request that has found its route. What it throws is a rejection, or a failure. */
  call(match: Match<R>, request: ApiRequest): Promise<ApiResponse>;
  /** Puts a rejection into words; `undefined` for what is none. */
  reject(error: unknown): ApiResponse | undefined;
  /** What is answered to anything else that was thrown. */
  readonly failure: ApiResponse;
  report(failure: unknown): void;
  /** How often clients may ask. */
  readonly gate: RateLimitOptions;
}

/** Makes an interface of its routes: finds, answers, and does for each what HTTP asks of all. */
export function serveRoutes<R extends Endpoint>(host: RouteHost<R>): Api {
  const router = createRouter(host.routes);
  const gate = createRateLimitGuard(host.gate, host.report);
  const spaces = new Set(host.routes.map(({ path }) => firstSegment(path)));
  const numbered = [...spaces].some((space) => space === NUMBERED);

  async function answer(request: ApiRequest): Promise<ApiResponse> {
    if (request.method === 'OPTIONS') return { status: 204, headers: PREFLIGHT_HEADERS };
    try {
      const match = find(router, request);
      // What is not found costs too.
      return await gate(request, getRequestCost(match instanceof OrderBookError ? undefined : match.route), () =>
        match instanceof OrderBookError ? Promise.reject(match) : host.call(match, request),
      );
    } catch (error) {
      const rejected = host.reject(error);
      if (rejected !== undefined) return rejected;
      // Who has left asked for the work to stop; that it did is no failure.
      if (error !== request.signal?.reason || !request.signal?.aborted) host.report(error);
      return host.failure;
    }
  }

  return {
    handlesPath(path) {
      const space = firstSegment(path);
      return spaces.has(space) || (numbered && /^\d+$/.test(space));
    },
    async handle(request) {
      const response = await answer(request);
      const whole = request.method === 'HEAD' ? await bodiless(response) : response;
      return { ...whole, headers: joinHeaders(CORS_HEADERS, whole.headers) };
    },
  };
}

/** A rejection here is kept until the gate has been passed. */
function find<R extends Endpoint>(router: Router<R>, { method, path }: ApiRequest): Match<R> | OrderBookError {
  try {
    return router.find(method, path);
  } catch (error) {
    if (error instanceof OrderBookError) return error;
    throw error;
  }
}

/** A first segment that stands for the number of a chain. */
const NUMBERED = ':chainId';

function firstSegment(path: string): string {
  return /[^/]+/.exec(path)?.[0] ?? '';
}

/**
 * Reads a parameter of a path.
 *
 * @throws OrderBookError `InvalidParameter` when it is not percent-encoded UTF-8.
 */
export function decodeParam(name: string, text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    throw new OrderBookError('InvalidParameter', `${name}: is not percent-encoded UTF-8`, { parameter: name });
  }
}

/** HEAD answers what GET would, with the length of the body that it leaves out. A stream is ended. */
async function bodiless({ status, headers, body }: ApiResponse): Promise<ApiResponse> {
  if (typeof body === 'object' && Symbol.asyncIterator in body) await body[Symbol.asyncIterator]().return?.();
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) return { status, headers };
  const length = typeof body === 'string' ? new TextEncoder().encode(body).length : body.length;
  return { status, headers: { ...headers, 'content-length': String(length) } };
}

/** The methods that a route allows, for the answer to one that it does not. */
export function allowHeader({ code, data }: OrderBookError): Record<string, string> {
  const allow = data?.['allow'];
  return code === 'MethodNotAllowed' && Array.isArray(allow) ? { allow: allow.join(', ') } : {};
}

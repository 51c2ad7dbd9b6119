import type { OrderBookError } from '../errors.ts';
import type { ApiResponse } from './message.ts';

type Headers = Readonly<Record<string, string>>;

/** Joins headers, the later over the earlier. V8 takes ten times as long to spread objects into one whose keys it cannot foresee. */
export function joinHeaders(first: Headers, second: Headers): Headers {
  return Object.assign({}, first, second);
}

const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' } as const;

/** An answer whose body is JSON already, text or bytes. Cached by nobody unless `headers` say otherwise. */
export function jsonText(status: number, body: string | Uint8Array, headers: Headers = {}): ApiResponse {
  return { status, headers: joinHeaders(JSON_HEADERS, headers), body };
}

/** An answer whose body is a value, rendered as JSON. */
export function jsonResponse(status: number, body: unknown, headers: Headers = {}): ApiResponse {
  return jsonText(status, JSON.stringify(body), headers);
}

/** A rejection as the order book interface sends it (decision 1.1). */
export function rejectionResponse(error: OrderBookError, headers: Headers = {}): ApiResponse {
  const wait = error.retryable ? { 'retry-after': String(error.data?.['retryAfter'] ?? 1) } : {};
  return jsonResponse(error.status, error, { ...wait, ...headers });
}

/** What is answered when something is at failure that no client can mend. Tells nothing of the inside. */
export const FAILURE_RESPONSE: ApiResponse = {
  ...jsonResponse(500, { errorType: 'InternalServerError', description: '' }, { 'retry-after': '1' }),
};

import type { OrderBook } from '../order-book.ts';
import type { ApiRequest, ApiResponse } from './message.ts';
import type { RequestCost } from './rate-limit.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** A request that has found its route. */
export interface Call {
  readonly book: OrderBook;
  readonly request: ApiRequest;
  /** A parameter of the path, percent-decoded. */
  param(name: string): string;
  readonly query: URLSearchParams;
  /** The body as parsed JSON; `undefined` on a route that reads none. */
  readonly body: unknown;
  /** What operators show; `undefined` when nobody is one. */
  readonly operatorToken: string | undefined;
}

/** One method on one path. */
export interface Endpoint {
  readonly method: Method;
  /** Segments that begin with a colon are parameters. A literal segment wins over a parameter. */
  readonly path: string;
  /** What a request costs its client. Default: a `GET` reads, everything else writes. */
  readonly kind?: RequestCost['kind'];
  /** Whether a success is a stream of events, of which a client may have only so many at once. */
  readonly stream?: boolean;
}

/** One endpoint of the order book interface. */
export interface Route extends Endpoint {
  /** Bytes of JSON body that are read at most, by a book. Absent: the route reads none. */
  readonly bodyLimit?: number | ((book: OrderBook) => number);
  /** Rejects, by throwing an `OrderBookError`, before the body is read. */
  before?(call: Pick<Call, 'request' | 'operatorToken'>): void;
  /** Answers. May throw an `OrderBookError`, which becomes its rejection. */
  handle(call: Call): Promise<ApiResponse>;
}

/** What a request to this route costs; `undefined` stands for one that finds no route. */
export function getRequestCost(route: Endpoint | undefined): RequestCost {
  const { method = 'GET', kind = method === 'GET' ? 'read' : 'write', stream = false } = route ?? {};
  return { kind, stream };
}

/** What an ordinary JSON body may have (decision 1.9). */
export const BODY_LIMIT = 64 * 1024;

/** What a list of UIDs may have, so that one too long can be counted and named as such (decision 1.9). */
export const LIST_BODY_LIMIT = 1024 * 1024;

/**
 * What a body that carries an app-data document may have: each of the document's bytes costs six at most when JSON
 * escapes it, and whatever stands around it fits into an ordinary body (decision 1.9).
 */
export function documentBodyLimit({ limits }: OrderBook): number {
  return Math.max(BODY_LIMIT, 6 * limits.maxAppDataSize + BODY_LIMIT / 4);
}

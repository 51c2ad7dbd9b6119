import { randomUUID } from 'node:crypto';
import type { ApiRequest, ApiResponse } from 'intentbook';

/** A request and its response. */
export interface Exchange {
  /** The request id of the client or a proxy, otherwise a generated one. */
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** The code of a rejection. */
  readonly errorType: string | undefined;
  /** Milliseconds until the response, or the start of a stream. */
  readonly ms: number;
  /** The client as the rate limit counts it: an address, the network of an IPv6 address, or `key <name>`. */
  readonly client: string | undefined;
}

/** Valid request ids of clients. Other ids could corrupt a log. */
const ID = /^[\w.:-]{1,100}$/;

/** Returns the id of a request: a safe one of the client, or a new one. */
export function requestId({ header }: ApiRequest): string {
  const given = header('x-request-id');
  return given !== undefined && ID.test(given) ? given : randomUUID();
}

/** Describes a request and its response. @param since - Its start, by `performance.now`. */
export function createExchange(
  { id, client, since }: Pick<Exchange, 'id' | 'client'> & { readonly since: number },
  { method, path }: ApiRequest,
  { status, body }: ApiResponse,
): Exchange {
  const errorType = status < 400 ? undefined : codeIn(body);
  return { id, method, path, status, errorType, ms: performance.now() - since, client };
}

/** Reads the code of a rejection. Only rejections, which are short, are parsed. */
function codeIn(body: ApiResponse['body']): string | undefined {
  return typeof body === 'string' ? /^\{"errorType":"(\w+)"/.exec(body)?.[1] : undefined;
}

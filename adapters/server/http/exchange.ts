import { randomUUID } from 'node:crypto';
import type { Api, ApiRequest, ApiResponse } from 'intentbook';

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
  readonly client: string | undefined;
}

/** Valid request ids of clients. Other ids could corrupt a log. */
const ID = /^[\w.:-]{1,100}$/;

/** Adds a request id to each response and reports the exchange. The callback must not throw. */
export function observedApi(api: Api, notify: (exchange: Exchange) => void): Api {
  return {
    ...(api.handlesPath === undefined ? {} : { handlesPath: api.handlesPath }),
    async handle(request) {
      const since = performance.now();
      const response = await api.handle(request);
      const given = request.header('x-request-id');
      const id = given !== undefined && ID.test(given) ? given : randomUUID();
      notify(exchangeOf(id, request, response, performance.now() - since));
      return { ...response, headers: { ...response.headers, 'x-request-id': id } };
    },
  };
}

function exchangeOf(id: string, request: ApiRequest, { status, body }: ApiResponse, ms: number): Exchange {
  const { method, path, remoteAddress: client } = request;
  return { id, method, path, status, errorType: status < 400 ? undefined : codeIn(body), ms, client };
}

/** Reads the code of a rejection. Only rejections, which are short, are parsed. */
function codeIn(body: ApiResponse['body']): string | undefined {
  return typeof body === 'string' ? /^\{"errorType":"(\w+)"/.exec(body)?.[1] : undefined;
}

import { randomUUID } from 'node:crypto';
import type { Api, ApiRequest, ApiResponse } from 'intentbook';

/** A request that was answered. */
export interface Exchange {
  /** What the client, or a proxy before us, calls the request; ours when nobody has said. */
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** The code of a rejection. */
  readonly errorType: string | undefined;
  /** Milliseconds until the answer could be sent; of a stream, until it could begin. */
  readonly ms: number;
  readonly client: string | undefined;
}

/** A request's id may come from outside as long as it can do no harm in a log. */
const ID = /^[\w.:-]{1,100}$/;

/** Gives each request an id, answers with it, and tells of the exchange. What is told must not throw. */
export function observedApi(api: Api, tell: (exchange: Exchange) => void): Api {
  return {
    ...(api.handlesPath === undefined ? {} : { handlesPath: api.handlesPath }),
    async handle(request) {
      const since = performance.now();
      const response = await api.handle(request);
      const given = request.header('x-request-id');
      const id = given !== undefined && ID.test(given) ? given : randomUUID();
      tell(exchangeOf(id, request, response, performance.now() - since));
      return { ...response, headers: { ...response.headers, 'x-request-id': id } };
    },
  };
}

function exchangeOf(id: string, request: ApiRequest, { status, body }: ApiResponse, ms: number): Exchange {
  const { method, path, remoteAddress: client } = request;
  return { id, method, path, status, errorType: status < 400 ? undefined : codeIn(body), ms, client };
}

/** A rejection says its code; only rejections, which are short, are looked into. */
function codeIn(body: ApiResponse['body']): string | undefined {
  return typeof body === 'string' ? /^\{"errorType":"(\w+)"/.exec(body)?.[1] : undefined;
}

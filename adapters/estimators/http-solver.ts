import type { Address, Estimator, EstimatorResponse, Trade } from 'intentbook';
import {
  assertKnownOptions,
  createHeaders,
  createServiceFetch,
  getEndpoint,
  parseServiceUrl,
  readJsonResponse,
  requireInteger,
} from '#internal';

/** Options of an external solver. */
export interface HttpSolverOptions {
  /** Additional request headers, such as an authorization. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Maximum size of a response in bytes. Default: 65536. */
  readonly maxBytes?: number;
  /** Implementation of `fetch`. Default: the global one. */
  readonly fetch?: typeof fetch;
  /** Name in observations. Default: the host of the URL. */
  readonly name?: string;
}

/**
 * Creates an estimator that queries an external solver over HTTP. The solver receives `POST {url}/quote` with
 *
 *     { "sellToken", "buyToken": "0x…", "kind": "sell" | "buy", "amount": "<atoms>", "timeout": <ms>,
 *       "settlementContract": "0x…" }
 *
 * `amount` is the sold amount (`sell`) or the bought amount (`buy`), before any fee. `timeout` is the time that the
 * caller waits; the connection is closed when no caller waits any more. `settlementContract` makes the calls of
 * `interactions`. The solver responds with 200 and one of
 *
 *     { "amount": "<atoms of the other side>", "gas": <units>, "solver"?: "0x…", "verified"?: bool, "metadata"?: {},
 *       "interactions"?: [{ "target", "value", "callData" }] }
 *     { "unsupportedToken": "0x…", "reason"?: "…" }
 *     { "rejection": "<code>", "reason"?: "…" }
 *
 * where the code is `InsufficientLiquidity`, `TokenTemporarilySuspended`, `TradingOutsideAllowedWindow` or
 * `CustomSolverError`; or with 404 if it finds no route. Any other response is a failure. Redirects are not followed.
 *
 * @param url - Base URL of `/quote`. A user and a password in it are sent as a Basic `Authorization` header only.
 * @throws TypeError if `url` is not an http or https URL, or if an option is malformed.
 */
export function httpSolver(url: string, options: HttpSolverOptions = {}): Estimator {
  assertKnownOptions('httpSolver', options, ['headers', 'maxBytes', 'fetch', 'name']);
  const service = parseServiceUrl('httpSolver', url);
  const target = getEndpoint(service, 'quote');
  const { headers = {}, maxBytes = 65_536, name = target.host } = options;
  requireInteger(`httpSolver: maxBytes`, maxBytes, 1);
  const send = createServiceFetch(options.fetch);
  const json = { 'content-type': 'application/json', accept: 'application/json' };
  const sent = createHeaders('httpSolver: headers', json, service.authorization, headers);

  return {
    name,
    async estimate(trade, { signal, timeout, settlementContract }) {
      const response = await send(target, {
        method: 'POST',
        headers: sent,
        body: JSON.stringify(createRequestBody(trade, timeout, settlementContract)),
        signal,
      });
      const result = await readJsonResponse(response, name, maxBytes, [404, 204]);
      return result === undefined ? undefined : parseResponse(result);
    },
  };
}

function createRequestBody(
  { sellToken, buyToken, kind, amount }: Trade,
  timeout: number,
  settlementContract: Address | undefined,
): object {
  const body = { sellToken, buyToken, kind, amount: amount.toString(), timeout };
  return settlementContract === undefined ? body : { ...body, settlementContract };
}

/** Parses the amount, which is text in JSON. The book validates everything else. */
function parseResponse(response: unknown): EstimatorResponse {
  if (typeof response !== 'object' || response === null || !('amount' in response))
    return response as EstimatorResponse;
  const { amount } = response;
  if (typeof amount !== 'string' || !/^[0-9]{1,78}$/.test(amount)) return response as never; // the book rejects it
  return { ...response, amount: BigInt(amount) } as EstimatorResponse;
}

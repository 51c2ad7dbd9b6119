import type { Estimator, EstimatorAnswer, Trade } from 'intentbook';
import { readResponseText, refuseUnknownOptions } from 'intentbook/adapter';

export interface SolverHttpOptions {
  /** Headers to send besides, such as an authorisation. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Bytes of an answer that are read at most. Default 65536. */
  readonly maxBytes?: number;
  /** Default: the global one. */
  readonly fetch?: typeof fetch;
  /** For observations. Default: the host of the URL. */
  readonly name?: string;
}

/**
 * A source that asks a program of somebody else over HTTP.
 *
 * It is sent `POST {url}/quote` with
 *
 *     { "sellToken", "buyToken": "0x…", "kind": "sell" | "buy", "amount": "<atoms>", "timeout": <ms> }
 *
 * where `amount` is what is sold (`sell`) or bought (`buy`), before any fee, and `timeout` is how long the question is
 * of interest; the connection is cut then. It answers 200 with one of
 *
 *     { "amount": "<atoms of the other side>", "gas": <units>, "solver"?: "0x…", "verified"?: bool, "metadata"?: {} }
 *     { "unsupportedToken": "0x…", "reason"?: "…" }
 *
 * or 404 when it knows no route. Anything else counts as a failure. Redirects are not followed.
 *
 * @throws TypeError when `url` is no http or https URL.
 */
export function solverHttp(url: string, options: SolverHttpOptions = {}): Estimator {
  refuseUnknownOptions('solverHttp', options, ['headers', 'maxBytes', 'fetch', 'name']);
  const target = endpointOf(url);
  const { headers = {}, maxBytes = 65_536, name = target.host } = options;
  const send = options.fetch ?? fetch;

  return {
    name,
    async estimate(trade, { signal, timeout }) {
      const response = await send(target, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
        body: JSON.stringify(questionOf(trade, timeout)),
        redirect: 'error',
        signal,
      });
      if (response.status === 404 || response.status === 204) {
        await response.body?.cancel();
        return undefined;
      }
      if (response.status !== 200) {
        await response.body?.cancel();
        throw new Error(`${name} has answered with status ${response.status}`);
      }
      return readAnswer(JSON.parse(await readResponseText(response, maxBytes)));
    },
  };
}

function endpointOf(url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !['http:', 'https:'].includes(parsed.protocol)) {
    throw new TypeError('solverHttp: url must be an http or https URL');
  }
  parsed.pathname = `${parsed.pathname.replace(/\/+$/, '')}/quote`;
  return parsed;
}

function questionOf({ sellToken, buyToken, kind, amount }: Trade, timeout: number): object {
  return { sellToken, buyToken, kind, amount: amount.toString(), timeout };
}

/** Reads the amount, which JSON cannot carry as a number; the book judges everything else. */
function readAnswer(answer: unknown): EstimatorAnswer {
  if (typeof answer !== 'object' || answer === null || !('amount' in answer)) return answer as EstimatorAnswer;
  const { amount } = answer;
  if (typeof amount !== 'string' || !/^[0-9]{1,78}$/.test(amount)) return answer as never; // no bigint: refused as nonsense
  return { ...answer, amount: BigInt(amount) } as EstimatorAnswer;
}

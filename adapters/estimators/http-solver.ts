import type { Estimator, EstimatorAnswer, Trade } from 'intentbook';
import { assertKnownOptions, readResponseText } from '#internal';

/** How an engine of somebody else is asked. */
export interface HttpSolverOptions {
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
 * where `amount` is what is sold (`sell`) or bought (`buy`), before any fee, and `timeout` is how long whoever
 * asks is going to wait; the connection is cut when nobody does any more. It answers 200 with one of
 *
 *     { "amount": "<atoms of the other side>", "gas": <units>, "solver"?: "0x…", "verified"?: bool, "metadata"?: {} }
 *     { "unsupportedToken": "0x…", "reason"?: "…" }
 *
 * or 404 when it knows no route. Anything else counts as a failure. Redirects are not followed.
 *
 * @param url where `/quote` is. A user and a password in it are sent as a Basic `Authorization`, and told to nobody else.
 * @throws TypeError when `url` is no http or https URL, or an option is malformed.
 */
export function httpSolver(url: string, options: HttpSolverOptions = {}): Estimator {
  assertKnownOptions('httpSolver', options, ['headers', 'maxBytes', 'fetch', 'name']);
  const { target, authorization } = endpointOf(url);
  const { headers = {}, maxBytes = 65_536, name = target.host } = options;
  if (!Number.isSafeInteger(maxBytes) || maxBytes <= 0) {
    throw new TypeError(`httpSolver: maxBytes must be a positive whole number, not "${maxBytes}"`);
  }
  const send = options.fetch ?? fetch;
  const sent = new Headers({ 'content-type': 'application/json', accept: 'application/json', ...authorization });
  for (const [header, value] of Object.entries(headers)) sent.set(header, value);

  return {
    name,
    async estimate(trade, { signal, timeout }) {
      const response = await send(target, {
        method: 'POST',
        headers: sent,
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

/** Where to ask, and how to show who one is: credentials in a URL go into a header, since no request may carry them there. */
function endpointOf(url: string): { readonly target: URL; readonly authorization: Record<string, string> } {
  const target = URL.canParse(url) ? new URL(url) : undefined;
  if (target === undefined || !['http:', 'https:'].includes(target.protocol)) {
    throw new TypeError('httpSolver: url must be an http or https URL');
  }
  const { username, password } = target;
  target.username = '';
  target.password = '';
  target.pathname = `${target.pathname.replace(/\/+$/, '')}/quote`;
  if (username === '' && password === '') return { target, authorization: {} };
  const credentials = new TextEncoder().encode(`${decoded(username)}:${decoded(password)}`);
  return { target, authorization: { authorization: `Basic ${btoa(String.fromCharCode(...credentials))}` } };
}

/** Undoes percent encoding; of text that has none, or a broken one, there is nothing to undo. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function questionOf({ sellToken, buyToken, kind, amount }: Trade, timeout: number): object {
  return { sellToken, buyToken, kind, amount: amount.toString(), timeout };
}

/** Reads the amount, which JSON cannot carry as a number; the book judges everything else. */
function readAnswer(answer: unknown): EstimatorAnswer {
  if (typeof answer !== 'object' || answer === null || !('amount' in answer)) return answer as EstimatorAnswer;
  const { amount } = answer;
  if (typeof amount !== 'string' || !/^[0-9]{1,78}$/.test(amount)) return answer as never; // no bigint: rejected as nonsense
  return { ...answer, amount: BigInt(amount) } as EstimatorAnswer;
}

import type {
  Clock,
  Estimate,
  Estimator,
  EstimatorResponse,
  SolverRejection,
  Trade,
  UpstreamRejection,
} from 'intentbook';
import { systemClock } from 'intentbook';
import { assertKnownOptions, parseHex, SOLVER_ERROR_CODES } from '#internal';
import { createConnection, type Session } from './connection.ts';
import { ACCESS_OPTIONS, parseAccess, type UpstreamAccessOptions } from './options.ts';
import { isObject, parseUpstreamAmount } from './parse-order.ts';
import { type parseQuote, toQuote } from './quote.ts';

/** Options of quotes of another order book. */
export interface OrderBookQuotesOptions extends UpstreamAccessOptions {
  /** Name in observations. Default: the host of the URL. */
  readonly name?: string;
  /** Clock of the budget. Books with the same clock share it. Default: that of the machine. */
  readonly clock?: Clock;
}

/** Codes that are reasons of the solver, and become the code of the rejection. */
const REJECTIONS: ReadonlySet<string> = new Set(SOLVER_ERROR_CODES);

const ZERO_ADDRESS = `0x${'00'.repeat(20)}`;

/**
 * Creates an estimator that requests quotes from another order book. Quotes share the request budget of
 * `orderBookUpstream` with the same host and key. Amounts include the protocol fee of the other book.
 *
 * @throws TypeError if an option is unknown or malformed.
 */
export function orderBookQuotes(options: OrderBookQuotesOptions): Estimator {
  const caller = 'orderBookQuotes';
  assertKnownOptions(caller, options, [...ACCESS_OPTIONS, 'name', 'clock']);
  const { name, clock = systemClock, ...access } = options;
  const connection = createConnection(parseAccess(caller, access));
  const session: Session = { clock, closed: new AbortController().signal, onCall: () => {} };

  return {
    name: name ?? connection.host,

    async estimate(trade, { signal, timeout }) {
      const body = createRequestBody(trade, timeout);
      const request = { class: 'quote', method: 'POST', path: 'api/v1/quote', body, signal } as const;
      const result = toQuote(await connection.send(session, request));
      if (result.status === 'rejected') return toResponse(result);
      if (result.status === 'quoted') return toEstimate(result.quote, trade);
      throw new Error(`${connection.host}: ${result.reason}`);
    },

    async nativePrice(token, { signal }) {
      const path = `api/v1/token/${token}/native_price`;
      const result = await connection.send(session, { class: 'read', method: 'GET', path, signal });
      if (result.outcome === 'ok' && isObject(result.body) && typeof result.body['price'] === 'number') {
        return result.body['price'];
      }
      if (result.outcome === 'rejected') return undefined;
      throw new Error(`${connection.host}: no native price of ${token}`);
    },
  };
}

function createRequestBody({ sellToken, buyToken, kind, amount }: Trade, timeout: number): object {
  const amounts = { [kind === 'sell' ? 'sellAmountAfterFee' : 'buyAmountAfterFee']: String(amount) };
  return { sellToken, buyToken, from: ZERO_ADDRESS, kind, ...amounts, timeout: Math.floor(timeout) };
}

/** Converts a rejection. @throws Error if it is not one of the trade. */
function toResponse({ code, description }: UpstreamRejection): EstimatorResponse {
  if (code === 'NoLiquidity') return undefined;
  if (REJECTIONS.has(code)) {
    return { rejection: code as SolverRejection['rejection'], reason: description }; // one of the list
  }
  const [token] = /0x[0-9a-fA-F]{40}\b/.exec(description) ?? [];
  const unsupportedToken = parseHex(token, 20);
  if (code === 'UnsupportedToken' && unsupportedToken !== undefined) return { unsupportedToken, reason: description };
  throw new Error(`${code}: ${description}`);
}

/** Converts a quote. @throws TypeError if it is malformed. */
function toEstimate(response: NonNullable<ReturnType<typeof parseQuote>>, { kind }: Trade): Estimate {
  const quote = isObject(response['quote']) ? response['quote'] : {};
  const amount = parseUpstreamAmount(quote[kind === 'sell' ? 'buyAmount' : 'sellAmount']);
  const gas = Math.ceil(Number(quote['gasAmount']));
  if (amount === undefined || !Number.isSafeInteger(gas)) throw new TypeError('the quote must have amounts and gas');
  return { amount, gas: Math.max(gas, 1), verified: response['verified'] === true };
}

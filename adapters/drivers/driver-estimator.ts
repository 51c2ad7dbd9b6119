import type { Address, Estimate, Estimator, EstimatorResponse, SolverRejection, Trade } from 'intentbook';
import { assertKnownOptions, parseHex, requireFunction, requireInteger, SOLVER_ERROR_CODES } from '#internal';
import type { HttpDriverOptions } from './http-driver.ts';
import { createDriverConnection, createResponseError, findError, sendRequest } from './requests.ts';

/** Options of a driver as a source of quotes. */
export interface DriverEstimatorOptions extends Pick<HttpDriverOptions, 'name' | 'headers' | 'maxBytes' | 'fetch'> {
  /** Gas units of a trade whose quote has no gas. Default: 250000. */
  readonly gas?: number;
  /** Returns the time in milliseconds since 1970, for the deadline that the driver receives. Default: the clock. */
  readonly now?: () => number;
}

const OPTIONS = ['name', 'headers', 'maxBytes', 'fetch', 'gas', 'now'];

/** Kinds of errors that are reasons of the solver, and become the code of the rejection. */
const REJECTIONS: ReadonlySet<string> = new Set(SOLVER_ERROR_CODES);

/**
 * Creates an estimator that calls `GET {url}/quote` of a driver in the format of production. Errors of the kind
 * `QuotingFailed` mean that there is no route; `TradingOutsideAllowedWindow`, `TokenTemporarilySuspended`,
 * `InsufficientLiquidity` and `CustomSolverError` become the reason of the rejection. Any other error is a failure.
 *
 * @param url - Base URL. A user and a password in it are sent as a Basic `Authorization` header only.
 * @throws TypeError if `url` is not an http or https URL, or if an option is malformed.
 */
export function driverEstimator(url: string, options: DriverEstimatorOptions = {}): Estimator {
  assertKnownOptions('driverEstimator', options, OPTIONS);
  const connection = createDriverConnection('driverEstimator', url, options);
  const { gas = 250_000, now = Date.now } = options;
  requireInteger(`driverEstimator: gas`, gas, 1);
  requireFunction('driverEstimator: now', now);
  return {
    name: connection.name,
    async estimate(trade, { signal, timeout }) {
      const { sellToken, buyToken, kind, amount } = trade;
      const deadline = new Date(now() + timeout).toISOString();
      const query = new URLSearchParams({ sellToken, buyToken, kind, amount: String(amount), deadline });
      const response = await sendRequest(connection, 'quote', { signal }, query);
      const error = findError(response.body);
      if (error?.kind === 'QuotingFailed') return undefined;
      if (error !== undefined && REJECTIONS.has(error.kind)) return toRejection(error.kind, error.description);
      if (response.status !== 200 || error !== undefined) throw createResponseError(connection, response);
      return toEstimate(response.body, trade, gas);
    },
  };
}

function toRejection(kind: string, reason: string | undefined): SolverRejection {
  const rejection = kind as SolverRejection['rejection']; // one of the list
  return reason === undefined ? { rejection } : { rejection, reason };
}

/** Converts a quote. The book validates the result. @throws TypeError if it is malformed. */
function toEstimate(body: unknown, trade: Trade, defaultGas: number): EstimatorResponse {
  if (typeof body !== 'object' || body === null) throw new TypeError('the quote must be an object');
  const { gas, solver, ...quote } = body as Readonly<Record<string, unknown>>; // an object
  const { amount: given, clearingPrices } = quote;
  const amount = given == null ? amountAt(clearingPrices, trade) : parseAmount('amount', given);
  const estimate: Estimate = { amount, gas: Number(gas ?? defaultGas), ...findRoute(quote) };
  const address = typeof solver === 'string' ? parseHex(solver, 20) : undefined;
  return address === undefined ? estimate : { ...estimate, solver: address };
}

/**
 * Maximum number of calls, of orders of the solver, and of characters of both, that a book simulates. A quote with more
 * is not verified.
 */
const MAX_CALLS = 64;
const MAX_ORDERS = 16;
const MAX_SIZE = 48 * 1024;

type Route = Pick<Estimate, 'interactions' | 'preInteractions' | 'jitOrders' | 'txOrigin'>;

/** Returns the calls of the settlement, and the orders of the solver. Empty if the book cannot simulate them. */
function findRoute(quote: Readonly<Record<string, unknown>>): Route {
  // As in production, a quote with prices may have no calls.
  const interactions = quote['interactions'] ?? (quote['clearingPrices'] == null ? undefined : []);
  const { txOrigin } = quote;
  const [pre, orders] = [quote['preInteractions'] ?? [], quote['jitOrders'] ?? []];
  if (!Array.isArray(pre) || !Array.isArray(interactions) || !Array.isArray(orders)) return {};
  if (pre.length + interactions.length > MAX_CALLS || orders.length > MAX_ORDERS) return {};
  if (JSON.stringify([pre, interactions, orders]).length > MAX_SIZE) return {};
  // The book validates each call, each order and the account.
  return {
    interactions: interactions.map(toDecimals),
    preInteractions: pre.map(toDecimals),
    jitOrders: orders.map(toDecimals),
    ...(txOrigin ? { txOrigin: txOrigin as Address } : {}),
  };
}

/** Members of calls and orders that may be decimal or hex. The book reads decimals. */
const AMOUNTS = ['value', 'sellAmount', 'buyAmount', 'executedAmount'];

function toDecimals<T>(given: T): T {
  if (typeof given !== 'object' || given === null) return given;
  const members = Object.entries(given).map(([name, value]: [string, unknown]) => {
    const isHex = AMOUNTS.includes(name) && typeof value === 'string' && /^0x[0-9a-fA-F]{1,64}$/.test(value);
    return [name, isHex ? String(BigInt(value)) : value];
  });
  return Object.fromEntries(members) as T; // the same members
}

/** Computes the other side of a trade at clearing prices, rounded as the settlement contract rounds. */
function amountAt(prices: unknown, { kind, sellToken, buyToken, amount }: Trade): bigint {
  const byToken = new Map(
    Object.entries(typeof prices === 'object' && prices !== null ? prices : {}).map(([token, price]) => {
      return [token.toLowerCase(), price as unknown];
    }),
  );
  const sell = parseAmount(`clearingPrices.${sellToken}`, byToken.get(sellToken));
  const buy = parseAmount(`clearingPrices.${buyToken}`, byToken.get(buyToken));
  if (sell === 0n || buy === 0n) throw new TypeError('clearingPrices must be positive');
  return kind === 'sell' ? (amount * sell + buy - 1n) / buy : (amount * buy) / sell;
}

function parseAmount(name: string, value: unknown): bigint {
  if (typeof value === 'string' && /^(?:[0-9]{1,78}|0x[0-9a-fA-F]{1,64})$/.test(value)) return BigInt(value);
  throw new TypeError(`${name} must be decimal digits, got ${String(value).slice(0, 80)}`);
}

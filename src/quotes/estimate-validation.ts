import { OrderBookError, SOLVER_ERROR_CODES } from '../errors.ts';
import type { JitOrder, Trade } from '../ports/estimator.ts';
import { compareDecimals, type Decimal, parseDecimal } from '../protocol/decimal.ts';
import { type Address, parseHex, ZERO_ADDRESS } from '../protocol/hex.ts';
import { isNestedDeeper, MAX_JSON_DEPTH } from '../protocol/json.ts';
import type { InteractionData } from '../protocol/trampoline.ts';
import { MAX_UINT256 } from '../protocol/uint256.ts';
import type { RaceResponse } from './estimator-race.ts';
import { isAmount } from './fee.ts';
import { readJitOrders } from './jit-orders.ts';

/** A valid estimate with all optional members set. */
export interface ValidatedEstimate {
  readonly source: string;
  readonly amount: bigint;
  readonly gas: bigint;
  readonly solver: Address;
  readonly verified: boolean;
  /** JSON text of an object. */
  readonly metadata: string;
  /** The calls of the route. `undefined` if the estimator has not returned them. */
  readonly interactions?: readonly InteractionData[] | undefined;
  readonly preInteractions?: readonly InteractionData[];
  readonly jitOrders?: readonly JitOrder[];
  readonly txOrigin?: Address;
}

/** Maximum length of the metadata text; longer metadata is omitted. */
const MAX_METADATA = 64 * 1024;

/** Maximum number of alternatives in one result. */
const MAX_ALTERNATIVES = 16;

/**
 * Validates the result of an estimator and returns its alternatives, at least one. Estimators are untrusted: they may
 * be external programs, and a plain JavaScript function may return anything. A null member counts as absent, since some
 * languages write absent members as null.
 */
export function validateEstimate(
  source: string,
  trade: Trade,
  result: unknown,
): RaceResponse<readonly ValidatedEstimate[]> {
  if (result === undefined || result === null) return NONE;
  if (typeof result !== 'object') return INVALID;
  if (!Array.isArray(result)) {
    const value = result as Readonly<Record<string, unknown>>; // an object; each member is validated
    if (typeof value['rejection'] === 'string') return validateRejection(value);
    if (value['unsupportedToken'] !== undefined && value['unsupportedToken'] !== null)
      return validateUnsupported(trade, value);
  }
  const alternatives: readonly unknown[] = Array.isArray(result) ? result : [result];
  if (alternatives.length === 0) return NONE;
  if (alternatives.length > MAX_ALTERNATIVES) return INVALID;
  const estimates: ValidatedEstimate[] = [];
  for (const alternative of alternatives) {
    const estimate = readEstimate(source, alternative);
    if (estimate === undefined) return INVALID;
    estimates.push(estimate);
  }
  return { outcome: 'responded', value: estimates };
}

const NONE = { outcome: 'none' } as const;
const INVALID = { outcome: 'invalid' } as const;

function readEstimate(source: string, value: unknown): ValidatedEstimate | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const given = value as Readonly<Record<string, unknown>>; // an object; each member is validated
  const { amount, gas, solver, verified, metadata, interactions, txOrigin } = given;
  const address = parseHex(solver ?? ZERO_ADDRESS, 20);
  const simulated = verified ?? false;
  if (typeof amount !== 'bigint' || !isAmount(amount)) return undefined;
  if (typeof gas !== 'number' || !Number.isSafeInteger(gas) || gas <= 0) return undefined;
  if (address === undefined || typeof simulated !== 'boolean') return undefined;
  const origin = txOrigin === undefined || txOrigin === null ? undefined : parseHex(txOrigin, 20);
  if (origin === undefined && txOrigin !== undefined && txOrigin !== null) return undefined;
  const route = interactions === undefined || interactions === null ? undefined : readRoute(given);
  if (route === 'invalid') return undefined;
  const details = route === undefined ? metadata : withRoute(metadata, route);
  return {
    source,
    amount,
    gas: BigInt(gas),
    solver: address,
    verified: simulated,
    metadata: toMetadataText(details),
    ...route,
    ...(origin === undefined ? {} : { txOrigin: origin }),
  };
}

/** The parts of a settlement besides the order. */
type Route = Required<Pick<ValidatedEstimate, 'preInteractions' | 'jitOrders'>> & {
  readonly interactions: readonly InteractionData[];
};

/** Reads the calls of a route and the orders of its solver. */
function readRoute({ interactions, preInteractions, jitOrders }: Readonly<Record<string, unknown>>): Route | 'invalid' {
  const [pre, orders] = [preInteractions ?? [], readJitOrders(jitOrders ?? [])];
  if (!Array.isArray(interactions) || !Array.isArray(pre) || orders === undefined) return 'invalid';
  // One limit applies to all calls.
  const calls = readInteractions([...pre, ...interactions]);
  if (calls === 'invalid') return 'invalid';
  return { interactions: calls.slice(pre.length), preInteractions: calls.slice(0, pre.length), jitOrders: orders };
}

/** Maximum number of calls of a route, and of the characters of their data. */
const MAX_INTERACTIONS = 64;
const MAX_CALL_DATA = 48 * 1024;

function readInteractions(value: unknown): readonly InteractionData[] | 'invalid' {
  if (!Array.isArray(value) || value.length > MAX_INTERACTIONS) return 'invalid';
  const calls: InteractionData[] = [];
  let size = 0;
  for (const each of value as readonly unknown[]) {
    if (typeof each !== 'object' || each === null) return 'invalid';
    const call = each as Readonly<Record<string, unknown>>; // an object; each member is validated
    const [target, callData] = [parseHex(call['target'], 20), parseHex(call['callData'])];
    const wei = call['value'];
    if (target === undefined || callData === undefined) return 'invalid';
    if (typeof wei !== 'string' || !/^[0-9]{1,78}$/.test(wei) || BigInt(wei) > MAX_UINT256) return 'invalid';
    size += callData.length;
    if (size > MAX_CALL_DATA) return 'invalid';
    calls.push({ target, value: String(BigInt(wei)), callData });
  }
  return calls;
}

/** Adds a route to metadata, in the form of the production order book. */
function withRoute(metadata: unknown, { interactions, preInteractions, jitOrders }: Route): object {
  const given = isPlainObject(metadata) ? metadata : {};
  return { version: '1.0', interactions, preInteractions, jitOrders, ...given };
}

function isPlainObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Validates an unsupported-token result. The token must be one of the trade's. */
function validateUnsupported(
  { sellToken, buyToken }: Trade,
  { unsupportedToken, reason }: Readonly<Record<string, unknown>>,
): RaceResponse<never> {
  const token = parseHex(unsupportedToken, 20);
  if (token !== sellToken && token !== buyToken) return INVALID;
  const why = typeof reason === 'string' ? `: ${reason.slice(0, 200)}` : '';
  const error = new OrderBookError('UnsupportedToken', `token ${token} cannot be traded${why}`, { token });
  return { outcome: 'rejected', error };
}

/** Validates the rejection of a solver. An unknown code counts as a custom one. */
function validateRejection({ rejection, reason }: Readonly<Record<string, unknown>>): RaceResponse<never> {
  const detail = SOLVER_ERROR_CODES.find((code) => code === rejection) ?? 'CustomSolverError';
  const description = typeof reason === 'string' ? reason.slice(0, 200) : undefined;
  return { outcome: 'rejected', error: new OrderBookError('NoLiquidity', description, { reason: detail }, detail) };
}

/**
 * Renders metadata as JSON text. Returns `{}` for metadata that is not an object, is too long or is nested too deeply:
 * SQLite parses at most 1000 levels. Also returns `{}` for text that PostgreSQL cannot store.
 */
function toMetadataText(metadata: unknown): string {
  if (!isPlainObject(metadata)) return '{}';
  try {
    const text = JSON.stringify(metadata);
    const fits = text.startsWith('{') && text.length <= MAX_METADATA && !isNestedDeeper(text, MAX_JSON_DEPTH);
    return fits && !INVALID_TEXT.test(text) ? text : '{}';
  } catch {
    return '{}'; // it has a cycle or a bigint; the estimate itself is still valid
  }
}

/**
 * Matches a NUL character or an unpaired surrogate as `JSON.stringify` escapes them, not preceded by another backslash.
 */
const INVALID_TEXT = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/;

const ETHER = 10n ** 18n;

/** Validates a token price. A price is usable if 10^18 atoms are worth at least one wei and less than 2^256. */
export function validatePrice(result: unknown): RaceResponse<Decimal> {
  if (result === undefined || result === null) return NONE;
  const value = parseDecimal(result);
  return value !== undefined && isUsablePrice(value) ? { outcome: 'responded', value } : INVALID;
}

/** Returns whether 10^18 atoms of a token are worth at least 1 wei and at most 2^256 − 1. */
export function isUsablePrice(price: Decimal): boolean {
  const { digits, scale } = price;
  const whole = (digits * ETHER) / 10n ** BigInt(scale);
  return whole >= 1n && whole <= MAX_UINT256;
}

/**
 * Returns the median of prices. With three or more prices, a single wrong one shifts the result at most to its
 * neighbour. With an even number it is the mean of the two in the middle: an error then changes the fee, but a sale
 * stays possible.
 *
 * @param prices - At least one.
 */
export function median(prices: readonly Decimal[]): Decimal {
  const sorted = [...prices].sort(compareDecimals);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  if (low === undefined || high === undefined) throw new RangeError('prices must not be empty');
  if (low === high) return low;
  const scale = Math.max(low.scale, high.scale) + 1;
  const digits = ({ digits, scale: own }: Decimal) => digits * 10n ** BigInt(scale - own);
  return { digits: (digits(low) + digits(high)) / 2n, scale };
}

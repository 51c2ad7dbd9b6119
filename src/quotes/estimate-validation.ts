import { OrderBookError } from '../errors.ts';
import type { Trade } from '../ports/estimator.ts';
import type { Decimal } from '../protocol/decimal.ts';
import { compareDecimals, parseDecimal } from '../protocol/decimal.ts';
import type { Address } from '../protocol/hex.ts';
import { parseHex, ZERO_ADDRESS } from '../protocol/hex.ts';
import { isNestedDeeper, MAX_JSON_DEPTH } from '../protocol/json.ts';
import { MAX_UINT256 } from '../protocol/uint256.ts';
import type { RaceAnswer } from './estimator-race.ts';
import { isAmount } from './fee.ts';

/** An estimate that makes sense, with every member present. */
export interface ValidatedEstimate {
  readonly source: string;
  readonly amount: bigint;
  readonly gas: bigint;
  readonly solver: Address;
  readonly verified: boolean;
  /** JSON text of an object. */
  readonly metadata: string;
}

/** How large the text of an execution plan may be; a larger one is left out. */
const MAX_METADATA = 64 * 1024;

/** How many ways of settling a trade a source may tell of. */
const MAX_WAYS = 16;

/**
 * Judges what a source has answered about a trade: the ways of settling it, at least one. Nothing is taken on trust: a
 * source may be somebody else's program, and a plain JavaScript function may answer anything. Members that are null
 * count as absent, since in some languages that is how the absent is written.
 */
export function validateEstimate(
  source: string,
  trade: Trade,
  answer: unknown,
): RaceAnswer<readonly ValidatedEstimate[]> {
  if (answer === undefined || answer === null) return NONE;
  if (typeof answer !== 'object') return INVALID;
  if (!Array.isArray(answer)) {
    const said = answer as Readonly<Record<string, unknown>>; // an object; each member is judged
    if (said['unsupportedToken'] !== undefined && said['unsupportedToken'] !== null)
      return validateUnsupported(trade, said);
  }
  const ways: readonly unknown[] = Array.isArray(answer) ? answer : [answer];
  if (ways.length === 0) return NONE;
  if (ways.length > MAX_WAYS) return INVALID;
  const value: ValidatedEstimate[] = [];
  for (const way of ways) {
    const sound = readEstimate(source, way);
    if (sound === undefined) return INVALID;
    value.push(sound);
  }
  return { outcome: 'answered', value };
}

const NONE = { outcome: 'none' } as const;
const INVALID = { outcome: 'invalid' } as const;

function readEstimate(source: string, said: unknown): ValidatedEstimate | undefined {
  if (typeof said !== 'object' || said === null) return undefined;
  const { amount, gas, solver, verified, metadata } = said as Readonly<Record<string, unknown>>; // each is judged below
  const address = parseHex(solver ?? ZERO_ADDRESS, 20);
  const simulated = verified ?? false;
  if (typeof amount !== 'bigint' || !isAmount(amount)) return undefined;
  if (typeof gas !== 'number' || !Number.isSafeInteger(gas) || gas <= 0) return undefined;
  if (address === undefined || typeof simulated !== 'boolean') return undefined;
  return { source, amount, gas: BigInt(gas), solver: address, verified: simulated, metadata: planText(metadata) };
}

/** A source can speak of the tokens that it was asked about, and of no others. */
function validateUnsupported(
  { sellToken, buyToken }: Trade,
  { unsupportedToken, reason }: Readonly<Record<string, unknown>>,
): RaceAnswer<never> {
  const token = parseHex(unsupportedToken, 20);
  if (token !== sellToken && token !== buyToken) return INVALID;
  const why = typeof reason === 'string' ? `: ${reason.slice(0, 200)}` : '';
  const error = new OrderBookError('UnsupportedToken', `token ${token} cannot be traded${why}`, { token });
  return { outcome: 'rejected', error };
}

/**
 * The text of a plan, or of an empty one where it is not of a kind that every store can hold: an object, not too large,
 * not too deep (SQLite reads no JSON deeper than 1000), and of text that PostgreSQL has too.
 */
function planText(metadata: unknown): string {
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) return '{}';
  try {
    const text = JSON.stringify(metadata);
    const fits = text.startsWith('{') && text.length <= MAX_METADATA && !isNestedDeeper(text, MAX_JSON_DEPTH);
    return fits && !UNTEXTUAL.test(text) ? text : '{}';
  } catch {
    return '{}'; // it has a cycle or a bigint; a price is not worse for it
  }
}

/** The character of number 0, or half of a surrogate pair, as `JSON.stringify` writes them: behind no other backslash. */
const UNTEXTUAL = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/;

const ETHER = 10n ** 18n;

/**
 * Judges what a source says a token is worth. A price is of use when 10^18 atoms are worth at least one wei, and less
 * than 2^256 of them.
 */
export function validatePrice(answer: unknown): RaceAnswer<Decimal> {
  if (answer === undefined || answer === null) return NONE;
  const value = parseDecimal(answer);
  return value !== undefined && isUsablePrice(value) ? { outcome: 'answered', value } : INVALID;
}

function isUsablePrice(price: Decimal): boolean {
  const { digits, scale } = price;
  const whole = (digits * ETHER) / 10n ** BigInt(scale);
  return whole >= 1n && whole <= MAX_UINT256;
}

/**
 * The price in the middle of several: of three or more, one that is wrong, high or low, moves it no further than to its
 * neighbour. Of an even number the mean of the two in the middle: nobody knows which of two is wrong, and where the mean
 * errs a fee is doubled or vanishes, but a sale is not made impossible.
 *
 * @param prices at least one.
 */
export function median(prices: readonly Decimal[]): Decimal {
  const sorted = [...prices].sort(compareDecimals);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  if (low === undefined || high === undefined) throw new RangeError('there is no median of nothing');
  if (low === high) return low;
  const scale = Math.max(low.scale, high.scale) + 1;
  const digits = ({ digits, scale: own }: Decimal) => digits * 10n ** BigInt(scale - own);
  return { digits: (digits(low) + digits(high)) / 2n, scale };
}

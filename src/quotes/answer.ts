import { OrderBookError } from '../errors.ts';
import type { Decimal } from '../protocol/decimal.ts';
import { compareDecimals, parseDecimal } from '../protocol/decimal.ts';
import type { Address } from '../protocol/hex.ts';
import { parseHex, ZERO_ADDRESS } from '../protocol/hex.ts';
import { isNestedDeeper, MAX_JSON_DEPTH } from '../protocol/json.ts';
import { MAX_UINT256 } from '../protocol/uint256.ts';
import { isAmount } from './fee.ts';
import type { Judged } from './race.ts';

/** An estimate that makes sense, with every member present. */
export interface SoundEstimate {
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

/**
 * Judges what a source has answered about a trade. Nothing is taken on trust: a source may be somebody else's program,
 * and a plain JavaScript function may answer anything.
 */
export function judgeEstimate(source: string, answer: unknown): Judged<SoundEstimate> {
  if (answer === undefined || answer === null) return { outcome: 'none' };
  if (typeof answer !== 'object') return { outcome: 'invalid' };
  const said = answer as Readonly<Record<string, unknown>>; // an object; each member is judged below
  if (said['unsupportedToken'] !== undefined) return judgeUnsupported(said);
  const { amount, gas, solver = ZERO_ADDRESS, verified = false, metadata = {} } = said;
  const address = parseHex(solver, 20);
  if (typeof amount !== 'bigint' || !isAmount(amount)) return { outcome: 'invalid' };
  if (typeof gas !== 'number' || !Number.isSafeInteger(gas) || gas <= 0) return { outcome: 'invalid' };
  if (address === undefined || typeof verified !== 'boolean') return { outcome: 'invalid' };
  const value = { source, amount, gas: BigInt(gas), solver: address, verified, metadata: planText(metadata) };
  return { outcome: 'answered', value };
}

function judgeUnsupported({ unsupportedToken, reason }: Readonly<Record<string, unknown>>): Judged<never> {
  const token = parseHex(unsupportedToken, 20);
  if (token === undefined) return { outcome: 'invalid' };
  const why = typeof reason === 'string' ? `: ${reason.slice(0, 200)}` : '';
  const error = new OrderBookError('UnsupportedToken', `token ${token} cannot be traded${why}`, { token });
  return { outcome: 'refused', error };
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
export function judgePrice(answer: unknown): Judged<Decimal> {
  if (answer === undefined || answer === null) return { outcome: 'none' };
  const value = parseDecimal(answer);
  return value !== undefined && isUsablePrice(value) ? { outcome: 'answered', value } : { outcome: 'invalid' };
}

function isUsablePrice(price: Decimal): boolean {
  const { digits, scale } = price;
  const whole = (digits * ETHER) / 10n ** BigInt(scale);
  return whole >= 1n && whole <= MAX_UINT256;
}

/** The higher of two prices: what the best source would pay. */
export function higher(a: Decimal, b: Decimal): Decimal {
  return compareDecimals(b, a) > 0 ? b : a;
}

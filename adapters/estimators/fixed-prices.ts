import type { Address, DecimalInput, Estimator } from 'intentbook';
import type { Decimal } from '#internal';
import { assertKnownOptions, formatDecimal, parseDecimal, parseHex } from '#internal';

/**
 * What a token is worth: native atoms for one of its atoms, or native coins for a whole token of so many decimals.
 * Read exactly: `'0.00029481'`, `'4e-10'`.
 */
export type FixedPrice = DecimalInput | { readonly price: DecimalInput; readonly decimals: number };

/** What a table of prices does not say. */
export interface FixedPricesOptions {
  /** Units of gas that every trade is said to take. Default 150000. */
  readonly gas?: number;
  /** For observations. Default `fixed prices`. */
  readonly name?: string;
}

/** Native currency has 18 decimals on every chain of the protocol. */
const NATIVE_DECIMALS = 18;

/**
 * A source that trades any amount between the tokens of a table, by their prices: for development, for tests, for
 * tokens that are pegged. The token that stands for native currency belongs into the table with the price 1.
 *
 * @throws TypeError naming the token whose address or price is malformed, of no use, or there twice.
 */
export function fixedPrices(table: Readonly<Record<string, FixedPrice>>, options: FixedPricesOptions = {}): Estimator {
  assertKnownOptions('fixedPrices', options, ['gas', 'name']);
  const { gas = 150_000, name = 'fixed prices' } = options;
  if (!Number.isSafeInteger(gas) || gas <= 0) {
    throw new TypeError(`fixedPrices: gas must be a positive whole number, not "${gas}"`);
  }
  const prices = new Map<Address, Decimal>();
  for (const [text, given] of Object.entries(table)) {
    const token = parseHex(text, 20);
    if (token === undefined) throw new TypeError(`fixedPrices: "${text}" must be 0x and 40 hex digits`);
    if (prices.has(token)) throw new TypeError(`fixedPrices: ${token} stands in the table twice`);
    prices.set(token, readPrice(token, given));
  }

  return {
    name,
    estimate({ sellToken, buyToken, kind, amount }) {
      const [sold, bought] = [prices.get(sellToken), prices.get(buyToken)];
      if (sold === undefined || bought === undefined) return undefined;
      // Sell atoms for buy atoms, or the other way round: what is known, times its price, over the other's price.
      const [known, other] = kind === 'sell' ? [sold, bought] : [bought, sold];
      const dividend = amount * known.digits * 10n ** BigInt(other.scale);
      const divisor = other.digits * 10n ** BigInt(known.scale);
      const answer = kind === 'sell' ? dividend / divisor : (dividend + divisor - 1n) / divisor;
      return answer > 0n ? { amount: answer, gas } : undefined;
    },
    nativePrice(token) {
      const price = prices.get(token);
      return price && formatDecimal(price);
    },
  };
}

const MAX_UINT256 = 2n ** 256n - 1n;

function readPrice(token: Address, given: FixedPrice | null): Decimal {
  const whole = typeof given === 'object' && given !== null;
  const { price, decimals } = whole ? given : { price: given, decimals: NATIVE_DECIMALS };
  const coins = parseDecimal(price);
  if (coins === undefined || coins.digits === 0n) {
    throw new TypeError(`fixedPrices: the price of ${token} must be a positive decimal number, not "${price}"`);
  }
  if (!Number.isInteger(decimals) || decimals < 0 || decimals > 77) {
    throw new TypeError(`fixedPrices: the decimals of ${token} must be a whole number from 0 to 77, not "${decimals}"`);
  }
  // A whole token of d decimals is 10^d atoms, a native coin 10^18.
  const scale = coins.scale + decimals - NATIVE_DECIMALS;
  const atoms =
    scale >= 0 ? { digits: coins.digits, scale } : { digits: coins.digits * 10n ** BigInt(-scale), scale: 0 };
  const wei = (atoms.digits * 10n ** 18n) / 10n ** BigInt(atoms.scale);
  if (wei >= 1n && wei <= MAX_UINT256) return atoms;
  // A book has no use for such a price, and would say so only when it is asked for a quote.
  const bounds = 'less than a wei, or more than 256 bits hold';
  throw new TypeError(`fixedPrices: at "${price}", 10^18 atoms of ${token} are worth ${bounds}`);
}

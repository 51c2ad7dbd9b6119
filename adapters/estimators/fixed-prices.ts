import type { Address, DecimalInput, Estimator } from 'intentbook';
import {
  assertKnownOptions,
  type Decimal,
  formatDecimal,
  MAX_UINT256,
  parseAddress,
  parseDecimal,
  requireInteger,
  requireTable,
} from '#internal';

/**
 * Value of a token: native atoms for one of its atoms, or native coins for a whole token with the given decimals.
 * Decimal text such as `'0.00029481'` or `'4e-10'` is read exactly.
 */
export type FixedPrice = DecimalInput | { readonly price: DecimalInput; readonly decimals: number };

/** Options of the fixed-price estimator. */
export interface FixedPricesOptions {
  /** Gas units of every trade. Default: 150000. */
  readonly gas?: number;
  /** Name in observations. Default: `fixed prices`. */
  readonly name?: string;
}

/** Native currency has 18 decimals on every chain of the protocol. */
const NATIVE_DECIMALS = 18;

/**
 * Creates an estimator that trades any amount between the tokens of a table at their prices: for development, tests and
 * pegged tokens. The wrapped native token must be in the table with the price 1.
 *
 * @throws TypeError with the token, if its address or price is malformed or out of range, or if it occurs twice.
 */
export function fixedPrices(table: Readonly<Record<string, FixedPrice>>, options: FixedPricesOptions = {}): Estimator {
  assertKnownOptions('fixedPrices', options, ['gas', 'name']);
  const { gas = 150_000, name = 'fixed prices' } = options;
  requireInteger(`fixedPrices: gas`, gas, 1);
  const prices = new Map<Address, Decimal>();
  for (const [text, value] of requireTable('fixedPrices: table', table)) {
    const token = parseAddress('fixedPrices', 'a token', text);
    if (prices.has(token)) throw new TypeError(`fixedPrices: ${token} occurs twice in the table`);
    prices.set(token, parsePrice(token, value));
  }

  return {
    name,
    estimate({ sellToken, buyToken, kind, amount }) {
      const [sold, bought] = [prices.get(sellToken), prices.get(buyToken)];
      if (sold === undefined || bought === undefined) return undefined;
      // The result is the given amount times its token's price, divided by the price of the other token.
      const [given, other] = kind === 'sell' ? [sold, bought] : [bought, sold];
      const dividend = amount * given.digits * 10n ** BigInt(other.scale);
      const divisor = other.digits * 10n ** BigInt(given.scale);
      const result = kind === 'sell' ? dividend / divisor : (dividend + divisor - 1n) / divisor;
      return result > 0n ? { amount: result, gas } : undefined;
    },
    nativePrice(token) {
      const price = prices.get(token);
      return price && formatDecimal(price);
    },
  };
}

function parsePrice(token: Address, value: FixedPrice | null): Decimal {
  const isWhole = typeof value === 'object' && value !== null;
  const { price, decimals } = isWhole ? value : { price: value, decimals: NATIVE_DECIMALS };
  const coins = parseDecimal(price);
  if (coins === undefined || coins.digits === 0n) {
    throw new TypeError(`fixedPrices: the price of ${token} must be a positive decimal number, got "${price}"`);
  }
  requireInteger(`fixedPrices: the decimals of ${token}`, decimals, 0, 77);
  // A whole token of d decimals has 10^d atoms, a native coin 10^18.
  const scale = coins.scale + decimals - NATIVE_DECIMALS;
  const atoms =
    scale >= 0 ? { digits: coins.digits, scale } : { digits: coins.digits * 10n ** BigInt(-scale), scale: 0 };
  const wei = (atoms.digits * 10n ** 18n) / 10n ** BigInt(atoms.scale);
  if (wei >= 1n && wei <= MAX_UINT256) return atoms;
  // The book would reject such a price, but only when a quote is requested.
  throw new TypeError(
    `fixedPrices: the price of ${token} must be from 1 to 2^256 - 1 wei for 10^18 atoms, got "${price}"`,
  );
}

import type { Address, UsdPriceSource } from 'intentbook';
import { parseHex } from '#internal';

/**
 * A table of prices, by chain id and token, in dollars for one whole token: for development, for tests, for tokens that
 * are pegged. `0xeeee…ee` is native currency.
 *
 * ```ts
 * fixedUsdPrices({ 11155111: { '0xfff9976782d46cc05630d1f6ebab18b2324d6b14': 3500 } });
 * ```
 *
 * @throws TypeError naming the chain, token or price that is malformed.
 */
export function fixedUsdPrices(table: Readonly<Record<number, Readonly<Record<string, number>>>>): UsdPriceSource {
  const prices = new Map<number, ReadonlyMap<Address, number>>();
  for (const [chain, tokens] of Object.entries(table)) {
    if (!/^[1-9]\d{0,15}$/.test(chain)) throw new TypeError(`fixedUsdPrices: "${chain}" is no chain id`);
    prices.set(Number(chain), new Map(Object.entries(tokens).map(readEntry)));
  }
  return { name: 'fixed prices', usdPrice: ({ chainId, token }) => prices.get(chainId)?.get(token) };
}

function readEntry([text, price]: readonly [string, number]): readonly [Address, number] {
  const token = parseHex(text, 20);
  if (token === undefined) throw new TypeError(`fixedUsdPrices: "${text}" must be 0x and 40 hex digits`);
  if (typeof price === 'number' && Number.isFinite(price) && price > 0) return [token, price];
  throw new TypeError(`fixedUsdPrices: the price of ${token} must be a number above 0, not "${price}"`);
}

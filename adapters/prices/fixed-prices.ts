import type { Address, UsdPriceSource } from 'intentbook';
import { parseAddress, requireTable } from '#internal';

/**
 * Creates a price source from a table of prices by chain id and token, in dollars for one whole token: for development,
 * tests and pegged tokens. `0xeeee…ee` is native currency.
 *
 * ```ts
 * fixedUsdPrices({ 11155111: { '0xfff9976782d46cc05630d1f6ebab18b2324d6b14': 3500 } });
 * ```
 *
 * @throws TypeError with the chain, token or price that is malformed, or with a token that occurs twice.
 */
export function fixedUsdPrices(table: Readonly<Record<number, Readonly<Record<string, number>>>>): UsdPriceSource {
  const prices = new Map<number, ReadonlyMap<Address, number>>();
  for (const [chain, tokens] of requireTable('fixedUsdPrices: table', table)) {
    if (!/^[1-9]\d{0,15}$/.test(chain)) throw new TypeError(`fixedUsdPrices: "${chain}" is not a valid chain id`);
    const ofChain = new Map<Address, number>();
    for (const [token, price] of requireTable(`fixedUsdPrices: chain ${chain}`, tokens).map(parseEntry)) {
      if (ofChain.has(token)) throw new TypeError(`fixedUsdPrices: ${token} occurs twice on chain ${chain}`);
      ofChain.set(token, price);
    }
    prices.set(Number(chain), ofChain);
  }
  return { name: 'fixed prices', usdPrice: ({ chainId, token }) => prices.get(chainId)?.get(token) };
}

function parseEntry([text, price]: readonly [string, number]): readonly [Address, number] {
  const token = parseAddress('fixedUsdPrices', 'a token', text);
  if (typeof price === 'number' && Number.isFinite(price) && price > 0) return [token, price];
  throw new TypeError(`fixedUsdPrices: the price of ${token} must be a number above 0, got "${price}"`);
}

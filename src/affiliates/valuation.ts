import type { AccountTools } from '../account-tools/account-tools.ts';
import { toWrapped } from '../account-tools/wrapped-token.ts';
import type { PricePoint } from '../ports/price-history.ts';
import type { UsdPriceQuery } from '../ports/prices.ts';
import type { Address } from '../protocol/hex.ts';
import { toValue } from './dollars.ts';

/** Returns the prices of a token in the last day. */
export type ReadHistory = (query: UsdPriceQuery) => Promise<readonly PricePoint[] | undefined>;

/** A trade to value. Amounts are atoms. */
export interface ValuedTrade {
  readonly chainId: number;
  readonly sellToken: Address;
  readonly buyToken: Address;
  readonly sellAmount: bigint;
  readonly buyAmount: bigint;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** Returns the value of a trade in millionths of a US dollar; `undefined` if no price is known. */
export type Valuation = (trade: ValuedTrade) => Promise<bigint | undefined>;

/** Age up to which the current price is that of a trade, in milliseconds. */
const CURRENT = 600_000;

/** Maximum difference between the times of a trade and of a price, in milliseconds. */
const TOLERANCE = 1_800_000;

/**
 * Creates the valuation of trades at their time: the lesser value of its two sides, otherwise of the one with a price.
 * The price of a token with a thin pool is what its owner makes it, and must not create rewards. An older
 * trade has the nearest price of the history, otherwise the current price.
 */
export function createValuation({
  clock,
  tokens,
  readPrice,
  readHistory,
  onFailure,
}: Pick<AccountTools, 'clock' | 'tokens' | 'onFailure'> & {
  /** Returns the current price in US dollars. */
  readonly readPrice: (query: UsdPriceQuery) => Promise<number | undefined>;
  readonly readHistory: ReadHistory;
}): Valuation {
  async function readPriceAt(query: UsdPriceQuery, at: number): Promise<number | undefined> {
    if (clock.now() - at <= CURRENT) return readPrice(query);
    return findNearest((await readHistory(query)) ?? [], at) ?? readPrice(query);
  }

  async function valueToken(chainId: number, traded: Address, atoms: bigint, at: number): Promise<bigint | undefined> {
    const token = toWrapped(chainId, traded);
    try {
      const decimals = (await tokens(chainId, token))?.decimals;
      const price = decimals === undefined ? undefined : await readPriceAt({ chainId, token }, at);
      return decimals === undefined || price === undefined ? undefined : toValue(atoms, decimals, price);
    } catch (failure) {
      onFailure(failure);
      return undefined;
    }
  }

  return async ({ chainId, sellToken, buyToken, sellAmount, buyAmount, at }) => {
    const [sold, bought] = await Promise.all([
      valueToken(chainId, sellToken, sellAmount, at),
      valueToken(chainId, buyToken, buyAmount, at),
    ]);
    const isLess = sold === undefined || (bought !== undefined && bought < sold);
    return isLess ? bought : sold;
  };
}

function findNearest(points: readonly PricePoint[], at: number): number | undefined {
  let nearest: PricePoint | undefined;
  for (const point of points) {
    if (nearest === undefined || Math.abs(point.at - at) < Math.abs(nearest.at - at)) nearest = point;
  }
  return nearest !== undefined && Math.abs(nearest.at - at) <= TOLERANCE ? nearest.price : undefined;
}

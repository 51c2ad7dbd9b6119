import { setBounded } from '../../concurrency/bounded-map.ts';
import { yieldToEventLoop } from '../../ports/clock.ts';
import type { PricePoint } from '../../ports/price-history.ts';
import type { Address } from '../../protocol/hex.ts';
import { PERIOD } from './volatility.ts';

/** A trade of two tokens. Amounts are atoms. */
export interface PricedTrade {
  /** Identifies the trade, so that it can be removed. */
  readonly key: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly sellToken: Address;
  readonly buyToken: Address;
  readonly sellAmount: bigint;
  readonly buyAmount: bigint;
}

/** Past prices of the tokens of one chain, from trades and from prices in US dollars. */
export type ObservedPrices = ReturnType<typeof createObservedPrices>;

/** Returns the decimals of a token, `undefined` if they are unknown. */
export type FindDecimals = (token: Address) => Promise<number | undefined>;

/** Milliseconds for which observations are kept. */
const MAX_AGE = 86_400_000;

/** Maximum number of trades; the oldest are dropped first. */
const MAX_TRADES = 50_000;

/** Maximum number of tokens with prices; the one that was updated first is dropped. */
const MAX_PRICED_TOKENS = 1_000;

/** Trades between a token and one with a known price. A token with such a trade has a price too. */
const MAX_HOPS = 2;

/** Trades that are added up in one tick of the event loop. */
const TRADES_PER_TICK = 500;

/** Atoms that both amounts of a trade must have: a smaller one is rounded by more than one percent. */
const MIN_AMOUNT = 100n;

/** A period counts if its volume is at least this part of the median of all periods, so that dust states no price. */
const MIN_VOLUME_PART = 100n;

/** A price that is lower or higher than those of its four neighbours by this factor is left out. */
const MAX_SPIKE = 1.2;

type Periods = Map<number, number>;

/** A computation of a history. */
interface Work {
  readonly decimals: FindDecimals;
  readonly now: number;
  /** Number of trades that were added up. */
  trades: number;
}

/**
 * Creates the record of a chain. A price in dollars counts for its period; the last one wins. In a period without one,
 * the price follows from the trades with a token that has a price in the same period, weighted by volume.
 *
 * @param dollarTokens - Tokens with a constant price of one dollar.
 */
export function createObservedPrices(dollarTokens: ReadonlySet<Address>) {
  const prices = new Map<Address, Periods>();
  const trades = new Map<string, PricedTrade>();
  /** The other tokens with which a token was traded, with the trades. */
  const markets = new Map<Address, Map<Address, Map<string, PricedTrade>>>();

  function addPrice(token: Address, price: number, at: number): void {
    const periods = prices.get(token) ?? new Map<number, number>();
    periods.set(toPeriod(at), price);
    for (const period of periods.keys()) if (period < at - MAX_AGE) periods.delete(period);
    setBounded(prices, token, periods, MAX_PRICED_TOKENS);
  }

  function addTrade(trade: PricedTrade): void {
    const { key, sellToken, buyToken, sellAmount, buyAmount, at } = trade;
    if (sellToken === buyToken || sellAmount < MIN_AMOUNT || buyAmount < MIN_AMOUNT) return;
    trades.set(key, trade);
    for (const [token, other] of [
      [sellToken, buyToken],
      [buyToken, sellToken],
    ] as const) {
      const others = markets.get(token) ?? new Map<Address, Map<string, PricedTrade>>();
      const market = others.get(other) ?? new Map<string, PricedTrade>();
      markets.set(token, others.set(other, market.set(key, trade)));
    }
    for (const [oldest, { at: since }] of trades) {
      if (trades.size <= MAX_TRADES && since >= at - MAX_AGE) break;
      removeTrade(oldest);
    }
  }

  /** Removes a trade whose block was rolled back. */
  function removeTrade(key: string): void {
    const trade = trades.get(key);
    if (trade === undefined) return;
    trades.delete(key);
    for (const [token, other] of [
      [trade.sellToken, trade.buyToken],
      [trade.buyToken, trade.sellToken],
    ] as const) {
      const others = markets.get(token);
      const market = others?.get(other);
      market?.delete(key);
      if (market?.size === 0) others?.delete(other);
      if (others?.size === 0) markets.delete(token);
    }
  }

  async function findPrices(token: Address, hops: number, work: Work): Promise<Periods> {
    const { decimals } = work;
    const known = new Map([...(prices.get(token) ?? [])].filter(([period]) => isRecent(period, work.now)));
    const scale = hops === 0 ? undefined : await decimals(token);
    if (scale === undefined) return known;
    for (const [other, market] of markets.get(token) ?? []) {
      const otherIsPriced = dollarTokens.has(other) || prices.has(other);
      // The decimals of a token that cannot have a price are not queried.
      const otherScale = otherIsPriced || hops > 1 ? await decimals(other) : undefined;
      if (otherScale === undefined) continue;
      const rates = await ratesByPeriod(token, market.values(), scale - otherScale, work);
      const otherPrices = dollarTokens.has(other) ? undefined : await findPrices(other, hops - 1, work);
      for (const [period, rate] of rates) {
        const otherPrice = otherPrices === undefined ? 1 : otherPrices.get(period);
        if (otherPrice !== undefined && !known.has(period)) known.set(period, rate * otherPrice);
      }
    }
    return known;
  }

  return {
    addPrice,
    addTrade,
    removeTrade,
    /** Returns the prices of a token in the last day, one per period of 5 minutes, oldest first. */
    async history(token: Address, decimals: FindDecimals, now: number): Promise<PricePoint[]> {
      if (dollarTokens.has(token)) return constantPrices(now);
      const found = await findPrices(token, MAX_HOPS, { decimals, now, trades: 0 });
      const points = [...found].map(([at, price]) => ({ at, price })).sort((a, b) => a.at - b.at);
      return points.filter((_, i) => !isSpike(points, i));
    },
  };
}

/** Returns whole tokens of the other side per whole token, by period. The amounts of a period are added up exactly. */
async function ratesByPeriod(
  token: Address,
  trades: Iterable<PricedTrade>,
  scaleDifference: number,
  work: Work,
): Promise<Periods> {
  const sums = new Map<number, { own: bigint; other: bigint }>();
  for (const { at, sellToken, sellAmount, buyAmount } of trades) {
    if (++work.trades % TRADES_PER_TICK === 0) await yieldToEventLoop();
    const period = toPeriod(at);
    if (!isRecent(period, work.now)) continue;
    const sum = sums.get(period) ?? { own: 0n, other: 0n };
    const [own, other] = sellToken === token ? [sellAmount, buyAmount] : [buyAmount, sellAmount];
    sums.set(period, { own: sum.own + own, other: sum.other + other });
  }
  const volumes = [...sums.values()].map(({ own }) => own).sort((a, b) => (a < b ? -1 : 1));
  const least = (volumes[Math.floor(volumes.length / 2)] ?? 0n) / MIN_VOLUME_PART;
  const counted = [...sums].filter(([, { own }]) => own >= least);
  return new Map(counted.map(([period, { own, other }]) => [period, divide(other, own, scaleDifference)]));
}

/** Returns whether a price is far from the two before and the two after it, which are close to each other. */
function isSpike(points: readonly PricePoint[], i: number): boolean {
  const price = points[i]?.price ?? 0;
  const neighbours = [i - 2, i - 1, i + 1, i + 2].flatMap((each) => points[each]?.price ?? []);
  if (neighbours.length < 4) return false;
  const [low, high] = [Math.min(...neighbours), Math.max(...neighbours)];
  return high < low * MAX_SPIKE && (price > high * MAX_SPIKE || price * MAX_SPIKE < low);
}

/** Divides with a precision above that of a double, and shifts the decimal point before the conversion. */
function divide(dividend: bigint, divisor: bigint, shift: number): number {
  return Number(`${(dividend * 10n ** 40n) / divisor}e${shift - 40}`);
}

/** The price of a token that is always worth one dollar. */
function constantPrices(now: number): PricePoint[] {
  const last = toPeriod(now);
  const count = MAX_AGE / PERIOD;
  return Array.from({ length: count + 1 }, (_, i) => ({ at: last - (count - i) * PERIOD, price: 1 }));
}

const toPeriod = (at: number) => Math.round(at / PERIOD) * PERIOD;
const isRecent = (period: number, now: number) => period >= now - MAX_AGE;

import type { PricePoint } from '../../ports/price-history.ts';

/** The history and the current price of a token. A member is `undefined` if it is unknown. */
export interface TokenMarket {
  readonly history: readonly PricePoint[] | undefined;
  /** US dollars for one whole token. */
  readonly spot: number | undefined;
}

/** The period for which volatility is stated, in milliseconds. */
export const PERIOD = 300_000;

/** Points that a history, or two of them together, must have. The volatility of fewer prices is not reliable. */
export const MIN_POINTS = 12;

/**
 * Computes the volatility of a pair over 5 minutes, relative to its current price. Timestamps are rounded to 5 minutes,
 * because the histories of two tokens have different ones.
 *
 * @returns `undefined` if a history or a price is unknown, or if the histories have less than 12 common points.
 */
export function computePairVolatility(base: TokenMarket, quote: TokenMarket): number | undefined {
  if (base.history === undefined || quote.history === undefined) return undefined;
  if (base.spot === undefined || quote.spot === undefined) return undefined;
  // Two points of a token may have the same rounded time: the last one of the base token, and each of the quote token.
  const basePrices = new Map(base.history.map(({ at, price }) => [roundToPeriod(at), price]));
  const ratios = quote.history.flatMap(({ at, price }) => {
    const rounded = roundToPeriod(at);
    const basePrice = basePrices.get(rounded);
    return basePrice === undefined ? [] : [{ at: rounded, price: basePrice / price }];
  });
  if (ratios.length < MIN_POINTS) return undefined;
  return finite(computeVolatility(ratios) / (base.spot / quote.spot));
}

/** Computes the volatility of a token over 5 minutes, relative to its current price. `undefined` as for a pair. */
export function computeTokenVolatility({ history, spot }: TokenMarket): number | undefined {
  if (history === undefined || history.length < MIN_POINTS || spot === undefined) return undefined;
  return finite(computeVolatility(history) / spot);
}

/** Converts a relative volatility to basis points, rounded up. */
export function toBasisPoints(volatility: number): number {
  return Math.ceil(volatility * 10_000);
}

/** Returns the population standard deviation, scaled from the average distance of the points to 5 minutes. */
function computeVolatility(points: readonly PricePoint[]): number {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) return 0;
  const mean = points.reduce((sum, { price }) => sum + price, 0) / points.length;
  const variance = points.reduce((sum, { price }) => sum + (price - mean) ** 2, 0) / points.length;
  const deviation = Math.sqrt(variance);
  const spacing = (last.at - first.at) / (points.length - 1);
  return deviation * Math.sqrt(PERIOD / spacing);
}

const roundToPeriod = (at: number) => Math.round(at / PERIOD) * PERIOD;

/** Excludes histories without a duration, whose volatility is not finite. */
const finite = (value: number) => (Number.isFinite(value) ? value : undefined);

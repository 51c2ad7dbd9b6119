import type { Address } from 'intentbook';
import { MAX_UINT256, yieldToEventLoop } from '#internal';
import { getGross, getLimitProducts, respectsLimit } from './execution.ts';
import type { LiquidityState } from './liquidity.ts';
import type { Fill } from './types.ts';

/** Two tokens that are exchanged in one batch. */
export interface Pair {
  readonly base: Address;
  readonly other: Address;
}

/** A batch of fills of one pair, with the swap that it needs. */
export interface ClearedPair {
  readonly prices: Readonly<Record<Address, bigint>>;
  readonly fills: readonly Fill[];
  readonly swap: { readonly sellToken: Address; readonly buyToken: Address; readonly amountIn: bigint } | undefined;
}

/** One atom of the base token is exchanged for `base / other` atoms of the other token. */
interface PairPrice {
  readonly base: bigint;
  readonly other: bigint;
}

/** A fill that prevents a batch. */
interface Obstacle {
  readonly fill: Fill;
  /** Whether a smaller fill of the order prevents it as well. */
  readonly isFinal: boolean;
}

/** Halvings of a partially fillable order before it is left out. */
const MAX_HALVINGS = 24;

/** Steps of a price reduction that makes up for rounding, each twice as large as the one before, from 10^-12. */
const MAX_REDUCTIONS = 36;

/**
 * Clears the orders of one pair at one price. Opposite orders are matched directly, and the difference is traded
 * with the liquidity. Orders that the price does not satisfy are reduced, if they are partially fillable, or left out.
 *
 * @param candidates - Fills at their largest size. Native currency must appear as its wrapped token.
 * @param buffer - Atoms per fill that the settlement contract may lose to rounding.
 * @param signal - Checked before each attempt at a price. The event loop runs in between.
 * @returns `undefined` if no order can be filled.
 */
export async function clearPair(
  pair: Pair,
  candidates: readonly Fill[],
  liquidity: LiquidityState,
  buffer: bigint,
  signal: AbortSignal,
): Promise<ClearedPair | undefined> {
  let fills = [...candidates];
  const halvings = new Map<string, number>();
  while (fills.length > 0) {
    await yieldToEventLoop();
    signal.throwIfAborted();
    const cleared = clearAll(pair, fills, liquidity, buffer * BigInt(fills.length));
    if ('prices' in cleared) return cleared;
    fills = without(fills, cleared, halvings);
  }
  return undefined;
}

/** @returns The batch with all fills, or the fill that prevents it. */
function clearAll(
  { base, other }: Pair,
  fills: readonly Fill[],
  liquidity: LiquidityState,
  buffer: bigint,
): ClearedPair | Obstacle {
  const first = clearingPrice({ base, other }, fills, liquidity);
  if (first === undefined) return largest(fills);
  for (let reduction = 0; reduction <= MAX_REDUCTIONS; reduction++) {
    const { price, sells } = first;
    const prices = getPrices({ base, other }, reduced(price, sells, reduction));
    const worst = worstViolation(fills, prices);
    if (worst !== undefined) return worst;
    const net = getNetPayments({ base, other }, fills, prices);
    if (net.base >= -buffer && net.other >= -buffer) return { prices, fills, swap: undefined };
    const [sellToken, buyToken] = net.base > 0n ? [base, other] : [other, base];
    const [amountIn, needed] = net.base > 0n ? [net.base, -net.other] : [net.other, -net.base];
    if (amountIn > 0n && needed > 0n && liquidity.quote(sellToken, buyToken, amountIn) >= needed) {
      return { prices, fills, swap: { sellToken, buyToken, amountIn } };
    }
  }
  return largest(fills);
}

function getPrices({ base, other }: Pair, price: PairPrice): Readonly<Record<Address, bigint>> {
  return { [base]: price.base, [other]: price.other };
}

/**
 * Lowers the price of the token that is sold to the liquidity, so that the amounts that rounding adds for the orders
 * are covered. Both prices are kept below 2^112, since the contract multiplies them with amounts.
 */
function reduced({ base, other }: PairPrice, sells: 'base' | 'other', step: number): PairPrice {
  const scale = 10n ** 12n;
  const kept = step === 0 ? scale : scale - 2n ** BigInt(step - 1);
  const [up, down] = [base * (sells === 'base' ? kept : scale), other * (sells === 'other' ? kept : scale)];
  const larger = up > down ? up : down;
  const excess = BigInt(Math.max(0, larger.toString(2).length - 112));
  // Rounding must not raise the price of the token that is sold.
  const ceil = (value: bigint) => (value + (1n << excess) - 1n) >> excess;
  const floor = (value: bigint) => value >> excess || 1n;
  return sells === 'base' ? { base: floor(up), other: ceil(down) } : { base: ceil(up), other: floor(down) };
}

/** Sums amounts of fills, which are negative for tokens that an order receives, by token. */
function sumAmounts(
  { base }: Pair,
  fills: readonly Fill[],
  amountsOf: (fill: Fill) => readonly (readonly [token: Address, amount: bigint])[],
): PairPrice {
  const sums = { base: 0n, other: 0n };
  for (const [token, amount] of fills.flatMap(amountsOf)) sums[token === base ? 'base' : 'other'] += amount;
  return sums;
}

/** Amounts that orders fix, net of each other: those sold less those bought. */
function fixedAmounts(pair: Pair, fills: readonly Fill[]) {
  return sumAmounts(pair, fills, ({ order: { kind, sellToken, buyToken }, executed }) => [
    kind === 'sell' ? [sellToken, executed] : [buyToken, -executed],
  ]);
}

/**
 * Finds the price at which the batch is balanced. With S and T the net fixed amounts of the base and of the other
 * token, a batch that sells n atoms of the base token to the liquidity is balanced at the price T / (S − n).
 *
 * @returns The price, and the token that the liquidity receives; `undefined` if no price balances the batch.
 */
function clearingPrice({ base, other }: Pair, fills: readonly Fill[], liquidity: LiquidityState) {
  const { base: s, other: t } = fixedAmounts({ base, other }, fills);
  const forward = sellToLiquidity(s, t, (n) => liquidity.quote(base, other, n));
  if (forward !== undefined) return { price: { base: forward.up, other: forward.down }, sells: 'base' as const };
  const backward = sellToLiquidity(t, s, (n) => liquidity.quote(other, base, n));
  if (backward !== undefined) return { price: { base: backward.down, other: backward.up }, sells: 'other' as const };
  // Opposite orders that balance each other need no liquidity.
  if (s > 0n && t > 0n) return { price: { base: t, other: s }, sells: 'base' as const };
  return s < 0n && t < 0n ? { price: { base: -t, other: -s }, sells: 'base' as const } : undefined;
}

/** Searches for the amount to sell, where that gives the sellers a better price than a direct match. */
function sellToLiquidity(s: bigint, t: bigint, quote: (amountIn: bigint) => bigint) {
  if (s < 0n || (s === 0n && t >= 0n)) return undefined;
  if (t === 0n) return quote(s) > 0n ? { up: quote(s), down: s } : undefined;
  // Whether the liquidity pays at least the price that balances the batch.
  const pays = (n: bigint) => (t > 0n ? quote(n) * (s - n) >= t * n : quote(n) * (n - s) >= -t * n);
  const n = t > 0n ? lastThat(pays, 0n, s) : firstThat(pays, s);
  if (n === undefined || n === 0n || n === s) return undefined;
  return t > 0n ? { up: t, down: s - n } : { up: -t, down: n - s };
}

/** Finds the largest number from `least` up and below `end` for which a condition holds that ends once. */
function lastThat(holds: (n: bigint) => boolean, least: bigint, end: bigint): bigint {
  let [low, high] = [least, end];
  while (high - low > 1n) {
    const middle = (low + high) / 2n;
    if (holds(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/** Finds the smallest number above `least` for which a condition holds that begins once. */
function firstThat(holds: (n: bigint) => boolean, least: bigint): bigint | undefined {
  let step = 1n;
  while (!holds(least + step)) {
    step *= 2n;
    if (step > 2n ** 120n) return undefined;
  }
  return lastThat((n) => !holds(n), least, least + step) + 1n;
}

/** Returns the amounts that the orders pay, less those that they receive. Protocol fees are not traded. */
function getNetPayments(pair: Pair, fills: readonly Fill[], prices: Readonly<Record<Address, bigint>>) {
  return sumAmounts(pair, fills, (fill) => {
    const { sold, bought } = getGross(fill, prices);
    return [
      [fill.order.sellToken, sold],
      [fill.order.buyToken, -bought],
    ];
  });
}

/** Finds the fill whose limit price is furthest from the price, or one that exceeds 256 bits. */
function worstViolation(fills: readonly Fill[], prices: Readonly<Record<Address, bigint>>): Obstacle | undefined {
  let worst: (ReturnType<typeof getLimitProducts> & { readonly fill: Fill }) | undefined;
  for (const fill of fills) {
    if (respectsLimit(fill, prices)) continue;
    const { offer, demand } = getLimitProducts(fill, prices);
    // The products have the signed amounts, so that those of a smaller fill are as large.
    if (offer > MAX_UINT256) return { fill, isFinal: true };
    if (worst === undefined || demand * worst.offer > worst.demand * offer) worst = { fill, offer, demand };
  }
  return worst && { fill: worst.fill, isFinal: false };
}

/** Returns the largest fill: without it, the liquidity is more likely to be sufficient. */
function largest(fills: readonly Fill[]): Obstacle {
  const sellAmount = ({ order }: Fill) => BigInt(order.sellAmount);
  const fill = fills.reduce((most, each) => (sellAmount(each) > sellAmount(most) ? each : most));
  return { fill, isFinal: false };
}

/** Halves a partially fillable fill, or leaves it out. */
function without(fills: readonly Fill[], { fill: worst, isFinal }: Obstacle, halvings: Map<string, number>): Fill[] {
  return fills.flatMap((fill) => {
    if (fill !== worst) return [fill];
    const count = (halvings.get(fill.order.uid) ?? 0) + 1;
    halvings.set(fill.order.uid, count);
    const executed = fill.executed / 2n;
    const isReduced = fill.order.partiallyFillable && executed > 0n && count <= MAX_HALVINGS && !isFinal;
    return isReduced ? [{ ...fill, executed }] : [];
  });
}

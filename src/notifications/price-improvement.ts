import type { Order, StoredOrderQuote } from '../records/wire-order.ts';

/** Least improvement that is reported, in parts of the expected amount: one basis point. */
const LEAST = 10_000n;

/**
 * How much better a trade is than the quote of its order, or than its limit if the limit demands more. Amounts are
 * decimal strings of atoms: of the buy token for sell orders, of the sell token for buy orders.
 */
export interface Improvement {
  readonly reference: 'quote' | 'limit';
  /** The amount by the reference: the least one of a sale, the most one of a purchase. */
  readonly expected: string;
  /** The difference between the amount of the trade and `expected`. */
  readonly surplus: string;
}

/**
 * Compares a trade with the quote of its order, after the quoted fee, and with its limit. See
 * docs/internals/decisions.md#d5-1.
 *
 * - Sell: the quoted sell amount includes the fee. The fee reduces the quoted buy amount at the quoted rate.
 * - Buy: the fee is paid in addition to the quoted sell amount.
 *
 * The sell amount of a trade includes all fees. Quote and settlement round by up to one atom.
 *
 * @returns `undefined` if the trade is better by less than one basis point, or by one atom only.
 */
export function computeImprovement(
  order: Pick<Order, 'kind' | 'sellAmount' | 'buyAmount'>,
  quote: Pick<StoredOrderQuote, 'sellAmount' | 'buyAmount' | 'feeAmount'>,
  trade: { readonly sellAmount: string; readonly buyAmount: string },
): Improvement | undefined {
  const [sell, buy, fee] = [BigInt(quote.sellAmount), BigInt(quote.buyAmount), BigInt(quote.feeAmount)];
  const [limitSell, limitBuy] = [BigInt(order.sellAmount), BigInt(order.buyAmount)];
  const [sold, bought] = [BigInt(trade.sellAmount), BigInt(trade.buyAmount)];
  const isSale = order.kind === 'sell';
  if (limitSell === 0n || limitBuy === 0n || (isSale ? sell : buy) === 0n) return undefined;
  const quoted = isSale ? divideUp(buy * max(sell - fee, 0n) * sold, sell * sell) : ((sell + fee) * bought) / buy;
  const limit = isSale ? divideUp(limitBuy * sold, limitSell) : (limitSell * bought) / limitBuy;
  const isLimit = isSale ? limit > quoted : limit < quoted;
  const expected = isLimit ? limit : quoted;
  const surplus = isSale ? bought - expected : expected - sold;
  if (surplus <= 1n || surplus * LEAST < expected) return undefined;
  return { reference: isLimit ? 'limit' : 'quote', expected: String(expected), surplus: String(surplus) };
}

const divideUp = (a: bigint, b: bigint) => (a + b - 1n) / b;

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

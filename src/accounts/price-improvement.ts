import type { StoredOrderQuote } from '../orders/order-json.ts';
import type { OrderKind } from '../protocol/order.ts';

/** The surplus of a trade compared with its order's quote. Decimal strings of atoms of the buy token. */
export interface Improvement {
  /** The bought amount at the quoted rate, rounded down. */
  readonly quotedBuyAmount: string;
  /** The bought amount above `quotedBuyAmount`. */
  readonly surplus: string;
}

/**
 * Compares a trade with the quote of its order, after the quoted fee. See docs/internals/decisions.md#d5-1.
 *
 * - Sell: the quoted sell amount includes the fee. The fee reduces the quoted buy amount at the quoted rate.
 * - Buy: the fee is paid in addition to the quoted sell amount.
 *
 * The sell amount of a trade includes all fees.
 *
 * @returns `undefined` if the trade is not better than the quote.
 */
export function computeImprovement(
  kind: OrderKind,
  quote: Pick<StoredOrderQuote, 'sellAmount' | 'buyAmount' | 'feeAmount'>,
  trade: { readonly sellAmount: string; readonly buyAmount: string },
): Improvement | undefined {
  const [sell, buy, fee] = [BigInt(quote.sellAmount), BigInt(quote.buyAmount), BigInt(quote.feeAmount)];
  const paid = kind === 'sell' ? sell : sell + fee;
  if (paid === 0n) return undefined;
  const bought = kind === 'sell' ? max(buy - (fee * buy) / sell, 0n) : buy;
  const quoted = (bought * BigInt(trade.sellAmount)) / paid;
  const surplus = BigInt(trade.buyAmount) - quoted;
  return surplus > 0n ? { quotedBuyAmount: String(quoted), surplus: String(surplus) } : undefined;
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

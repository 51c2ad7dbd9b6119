import type { StoredOrderQuote } from '../orders/order-json.ts';

/** The surplus of a trade compared with its order's quote. Decimal strings of atoms of the buy token. */
export interface Improvement {
  /** The bought amount at the quoted rate, rounded down. */
  readonly quotedBuyAmount: string;
  /** The bought amount above `quotedBuyAmount`. */
  readonly surplus: string;
}

/**
 * Compares a trade with the quote of its order. A quote deducts its fee from the sell token, so its rate is `buyAmount`
 * per `sellAmount + feeAmount`. The sell amount of a trade includes all fees. Applies to both order kinds. See
 * docs/internals/decisions.md#d5-1.
 *
 * @returns `undefined` if the trade is not better than the quote.
 */
export function computeImprovement(
  quote: Pick<StoredOrderQuote, 'sellAmount' | 'buyAmount' | 'feeAmount'>,
  trade: { readonly sellAmount: string; readonly buyAmount: string },
): Improvement | undefined {
  const paid = BigInt(quote.sellAmount) + BigInt(quote.feeAmount);
  if (paid === 0n) return undefined;
  const quoted = (BigInt(quote.buyAmount) * BigInt(trade.sellAmount)) / paid;
  const surplus = BigInt(trade.buyAmount) - quoted;
  return surplus > 0n ? { quotedBuyAmount: String(quoted), surplus: String(surplus) } : undefined;
}

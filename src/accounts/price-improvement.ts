import type { StoredOrderQuote } from '../orders/order-json.ts';

/** What a trade has brought beyond its order's quote. Decimal strings of atoms of the buy token. */
export interface Improvement {
  /** What the quote would have brought for what was sold, rounded down. */
  readonly quotedBuyAmount: string;
  /** How much more it was. */
  readonly surplus: string;
}

/**
 * Compares a trade with the quote of its order (decision 5.1). A quote takes its fee from the sell token, so what it
 * offers is `buyAmount` for `sellAmount + feeAmount`; a trade tells what was taken in all. For both kinds of orders.
 *
 * @returns `undefined` when the trade has not brought more.
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

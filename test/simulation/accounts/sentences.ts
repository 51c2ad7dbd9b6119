import type { Hex } from 'intentbook';
import type { ForeignToken } from './foreign.ts';

/** An order that a contract has placed for a trader. */
export interface PlacedOrder {
  readonly uid: Hex;
  readonly trader: Hex;
  readonly kind: 'sell' | 'buy';
  readonly sell: ForeignToken;
  readonly buy: ForeignToken;
  readonly sellAmount: bigint;
  readonly buyAmount: bigint;
  readonly validTo: number;
}

/** A fact of the chain about an order. */
export type Fact =
  | {
      readonly type: 'trade';
      readonly order: PlacedOrder;
      readonly tx: Hex;
      readonly sold: bigint;
      readonly bought: bigint;
    }
  | { readonly type: 'invalidation'; readonly order: PlacedOrder; readonly tx: Hex };

/** What the list of a trader must show: a type, the transaction, and the amounts of the sentence in this order. */
export interface ExpectedSentence {
  readonly key: string;
  readonly words: RegExp;
  /** Each alternative is a list of amounts and tokens. */
  readonly amounts: readonly (readonly [bigint, ForeignToken])[];
}

/**
 * Computes the sentences of orders from the chain alone: a fill is complete if the exact sum of all fills reaches the
 * limit of its side.
 */
export function listSentences(orders: readonly PlacedOrder[], facts: readonly Fact[], now: number): ExpectedSentence[] {
  return orders.flatMap((order) => {
    const sentences: ExpectedSentence[] = [];
    const exchange = [order.sellAmount, order.buyAmount] as const;
    const pair = ([sold, bought]: readonly [bigint, bigint]): (readonly [bigint, ForeignToken])[] => [
      [sold, order.sell],
      [bought, order.buy],
    ];
    let [sold, bought, isOver] = [0n, 0n, false];
    for (const fact of facts.filter((each) => each.order === order)) {
      if (fact.type === 'invalidation') {
        if (isOver) continue;
        isOver = true;
        const rest = sold === 0n && bought === 0n ? [] : pair([sold, bought]);
        const end = rest.length === 0 ? /was cancelled$/ : /was cancelled\. It was filled in part: /;
        sentences.push({
          key: `order_cancelled ${order.uid} ${fact.tx}`,
          words: end,
          amounts: [...pair(exchange), ...rest],
        });
        continue;
      }
      sold += fact.sold;
      bought += fact.bought;
      const isFull = order.kind === 'sell' ? sold >= order.sellAmount : bought >= order.buyAmount;
      if (isFull) isOver = true;
      sentences.push({
        key: `${isFull ? 'order_filled' : 'order_partially_filled'} ${order.uid} ${fact.tx}`,
        words: isFull ? /^Your order was filled: / : /^Your order was filled in part: /,
        amounts: isFull ? pair([sold, bought]) : pair([fact.sold, fact.bought]),
      });
    }
    if (!isOver && order.validTo < now) {
      const rest = sold === 0n && bought === 0n ? [] : pair([sold, bought]);
      const words = rest.length === 0 ? /has expired$/ : /has expired\. It was filled in part: /;
      sentences.push({ key: `order_expired ${order.uid} `, words, amounts: [...pair(exchange), ...rest] });
    }
    return sentences;
  });
}

/**
 * Returns whether a sentence has these amounts: as a decimal number of whole tokens with six significant digits, or
 * exactly in atoms if the table of tokens failed.
 */
export function hasAmounts(message: string, amounts: readonly (readonly [bigint, ForeignToken])[]): boolean {
  const found = [
    ...message.matchAll(/(\d+)(?:\.(\d+))? (?:(atoms|tokens) of (0x[0-9a-f]{40})|([A-Za-z][A-Za-z0-9]*))/g),
  ];
  if (found.length !== amounts.length) return false;
  return found.every(([, whole = '', fraction = '', unit, address, symbol], i) => {
    const [atoms, token] = amounts[i] as readonly [bigint, ForeignToken]; // the lists have the same length
    if (unit !== undefined && address !== token.address) return false;
    if (unit === 'atoms') return fraction === '' && BigInt(whole) === atoms;
    if (unit === undefined && symbol !== token.symbol) return false;
    if (fraction.length > token.decimals || fraction.endsWith('0')) return false;
    // whole.fraction × 10^decimals, as an exact fraction
    const denominator = 10n ** BigInt(fraction.length);
    const error = BigInt(whole + fraction) * 10n ** BigInt(token.decimals) - atoms * denominator;
    const hidden = BigInt(Math.min(token.decimals, Math.max(0, String(atoms).length - 6)));
    return 2n * (error < 0n ? -error : error) <= (hidden === 0n ? 0n : 10n ** hidden * denominator);
  });
}

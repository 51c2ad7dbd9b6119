import type { TradeChainEvent } from '../ports/chain-store.ts';
import type { Store } from '../ports/store.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { OrderKind } from '../protocol/order.ts';

/** The signed terms that a trade is compared with. */
export interface SignedTerms {
  readonly kind: OrderKind;
  readonly sellAmount: bigint;
  readonly buyAmount: bigint;
}

const PAGE = 1000;

/** Prices are in wei for this number of atoms. */
const PRICED_ATOMS = 10n ** 18n;

/**
 * Returns the total surplus of an account's trades, in wei. Each trade is valued at the prices of that settlement.
 * See docs/internals/decisions.md#d4-2. Trades without prices, and trades of unknown orders, count 0.
 */
export async function totalSurplus(account: Address, store: Store): Promise<bigint> {
  let total = 0n;
  for (let offset = 0; ; offset += PAGE) {
    const trades = await store.chain.trades({ filter: { account }, offset, limit: PAGE });
    const priced = trades.filter(({ prices }) => prices !== null);
    const terms = await readTerms([...new Set(priced.map(({ uid }) => uid))], store);
    for (const trade of priced) {
      const signed = terms.get(trade.uid);
      if (signed !== undefined) total += computeSurplus(trade, signed);
    }
    if (trades.length < PAGE) return total;
  }
}

async function readTerms(uids: readonly Hex[], store: Store): Promise<ReadonlyMap<Hex, SignedTerms>> {
  const orders = await store.orders.get(uids);
  return new Map(
    orders.flatMap(({ uid, body }): [Hex, SignedTerms][] => {
      try {
        // Rendered from these members.
        const { kind, sellAmount, buyAmount } = JSON.parse(body) as Record<keyof SignedTerms, string>;
        return [[uid, { kind: kind as OrderKind, sellAmount: BigInt(sellAmount), buyAmount: BigInt(buyAmount) }]];
      } catch {
        return []; // reads of the order report the unreadable row
      }
    }),
  );
}

/** Returns the surplus of one trade over its share of the limit, in wei, rounded down, at least 0. */
export function computeSurplus(trade: TradeChainEvent, { kind, sellAmount, buyAmount }: SignedTerms): bigint {
  const sold = BigInt(trade.sellAmount) - BigInt(trade.feeAmount);
  const bought = BigInt(trade.buyAmount);
  const price = kind === 'sell' ? trade.prices?.buyToken : trade.prices?.sellToken;
  const [gain, per] =
    kind === 'sell'
      ? [bought * sellAmount - sold * buyAmount, sellAmount]
      : [bought * sellAmount - sold * buyAmount, buyAmount];
  if (price == null || gain <= 0n || per === 0n) return 0n;
  return (gain * BigInt(price)) / (per * PRICED_ATOMS);
}

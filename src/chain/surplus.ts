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

/** Prices are in wei for so many atoms. */
const PRICED_ATOMS = 10n ** 18n;

/**
 * Sums up what an account's trades have brought beyond what its orders asked for, in wei: each trade by itself, at the
 * prices of its own settlement (decision 4.2). Trades without prices bring nothing, nor do those of orders that are not
 * there: nobody knows what these asked for.
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
        const { kind, sellAmount, buyAmount } = JSON.parse(body) as Record<keyof SignedTerms, string>; // as rendered
        return [[uid, { kind: kind as OrderKind, sellAmount: BigInt(sellAmount), buyAmount: BigInt(buyAmount) }]];
      } catch {
        return []; // a damaged row, which reads of the order report
      }
    }),
  );
}

/** What one trade has brought beyond its share of the limit, in wei, rounded down; never less than nothing. */
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

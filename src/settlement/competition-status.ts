import { OrderBookError } from '../errors.ts';
import { orderStatus } from '../orders/status.ts';
import type { Store } from '../ports/store.ts';
import type { Address, Hex } from '../protocol/hex.ts';

/** What a solver would give, or has given, an order. Null: its solution is without the order. */
export interface SolverExecution {
  readonly solver: Address;
  readonly executedAmounts: { readonly sell: string; readonly buy: string } | null;
}

/** How an order fares in the solvers' competition. */
export type CompetitionStatus =
  | { readonly type: 'open' | 'scheduled' | 'active' | 'cancelled' }
  /** Each solution, worst first. */
  | { readonly type: 'solved' | 'executing' | 'traded'; readonly value: readonly SolverExecution[] };

/**
 * Says how an order fares by what is known of it: the newest of its trades, its state, and until then whether it can
 * trade at all (decision 4.3).
 *
 * @param now seconds since 1970.
 * @throws OrderBookError `NotFound` when there is neither such an order nor a trade of it.
 */
export async function competitionStatus(uid: Hex, store: Store, now: number): Promise<CompetitionStatus> {
  const [[order], [trade]] = await Promise.all([
    store.orders.get([uid]),
    store.chain.trades({ filter: { uid }, limit: 1 }),
  ]);
  if (trade !== undefined) {
    const settlements = await store.chain.settlements(trade.transactionHash);
    const settlement = settlements.find(({ logIndex }) => logIndex > trade.logIndex);
    const executedAmounts = { sell: trade.sellAmount, buy: trade.buyAmount };
    return { type: 'traded', value: settlement === undefined ? [] : [{ solver: settlement.solver, executedAmounts }] };
  }
  if (order === undefined) throw new OrderBookError('NotFound', 'there is no order with this UID');
  switch (orderStatus(order, now)) {
    case 'cancelled':
      return { type: 'cancelled' };
    case 'open':
      return { type: 'scheduled' };
    case 'presignaturePending':
    case 'expired':
    case 'fulfilled':
      return { type: 'open' };
  }
}

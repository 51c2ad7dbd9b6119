import { OrderBookError } from '../errors.ts';
import { getOrderStatus } from '../orders/status.ts';
import type { TradeChainEvent } from '../ports/chain-store.ts';
import type { Store } from '../ports/store.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { Competition } from './competition.ts';
import { competitionOfSettlement, hasOrder, latestCompetition } from './competition.ts';

/** The execution of an order by a solver. Null: the solution does not contain the order. */
export interface SolverExecution {
  readonly solver: Address;
  readonly executedAmounts: { readonly sell: string; readonly buy: string } | null;
}

/** The status of an order in the solver competition. */
export type CompetitionStatus =
  | { readonly type: 'open' | 'scheduled' | 'active' | 'cancelled' }
  /** Solutions, worst first. */
  | { readonly type: 'solved' | 'executing' | 'traded'; readonly value: readonly SolverExecution[] };

export interface CompetitionStatusContext {
  readonly store: Store;
  /** In seconds since 1970. */
  readonly now: number;
  /** The last auction. */
  readonly selection: { readonly listed: ReadonlySet<Hex>; readonly filtered: ReadonlyMap<Hex, unknown> } | undefined;
}

/**
 * Returns the status of an order, from its newest trade, its state, its solutions in the latest competition, and
 * whether it is in the auction. See docs/internals/decisions.md#d4-3. Without recorded competitions only the order
 * itself counts. An order that was left out of the last auction is `open`.
 *
 * @throws OrderBookError `NotFound` if neither the order nor a trade of it exists.
 */
export async function competitionStatus(uid: Hex, context: CompetitionStatusContext): Promise<CompetitionStatus> {
  const { store, now, selection } = context;
  const [[order], [trade]] = await Promise.all([
    store.orders.get([uid]),
    store.chain.trades({ filter: { uid }, limit: 1 }),
  ]);
  if (trade !== undefined) return { type: 'traded', value: await toExecutions(trade, store) };
  if (order === undefined) throw new OrderBookError('NotFound', 'there is no order with this UID');
  const status = getOrderStatus(order, now);
  if (status === 'cancelled') return { type: 'cancelled' };
  if (status !== 'open') return { type: 'open' };
  const latest = await running(store);
  if (latest !== undefined && hasOrder(latest, uid)) {
    const wins = latest.solutions.some(({ isWinner, orders }) => isWinner && orders.some(({ id }) => id === uid));
    return { type: wins ? 'executing' : 'solved', value: bids(latest, uid) };
  }
  if (selection?.filtered.has(uid)) return { type: 'open' };
  return { type: selection?.listed.has(uid) ? 'active' : 'scheduled' };
}

/** Returns the latest competition until its deadline block has passed. */
async function running(store: Store): Promise<Competition | undefined> {
  const [latest, { indexedBlock }] = await Promise.all([latestCompetition(store), store.chain.progress()]);
  return latest !== undefined && latest.auctionDeadlineBlock >= (indexedBlock?.number ?? 0) ? latest : undefined;
}

async function toExecutions(trade: TradeChainEvent, store: Store): Promise<readonly SolverExecution[]> {
  const settlements = await store.chain.settlements(trade.transactionHash);
  // A transaction may settle several auctions. The contract emits the trades of a settlement before its own event.
  const settlement = settlements.find(({ logIndex }) => logIndex > trade.logIndex);
  if (settlement === undefined) return [];
  const competition = await competitionOfSettlement(settlement, store);
  if (competition !== undefined) return bids(competition, trade.uid);
  return [{ solver: settlement.solver, executedAmounts: { sell: trade.sellAmount, buy: trade.buyAmount } }];
}

function bids({ solutions }: Competition, uid: Hex): readonly SolverExecution[] {
  return solutions.map(({ solverAddress: solver, orders }) => {
    const bid = orders.find(({ id }) => id === uid);
    return { solver, executedAmounts: bid === undefined ? null : { sell: bid.sellAmount, buy: bid.buyAmount } };
  });
}

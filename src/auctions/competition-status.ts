import { OrderBookError } from '../errors.ts';
import { getOrderStatus } from '../orders/status.ts';
import type { TradeChainEvent } from '../ports/chain-store.ts';
import type { Store } from '../ports/store.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { Competition } from './competition.ts';
import { competitionOfTransaction, hasOrder, latestCompetition } from './competition.ts';

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

export interface CompetitionStatusContext {
  readonly store: Store;
  /** Seconds since 1970. */
  readonly now: number;
  /** The UIDs in the auction that was made last. */
  readonly listed: ReadonlySet<Hex>;
}

/**
 * Says how an order fares: by the newest of its trades, by its state, by what solvers made of it in the latest auction,
 * and until then by whether it can trade at all (decision 4.3). Where no competition was recorded, the order's own facts say.
 *
 * @throws OrderBookError `NotFound` when there is neither such an order nor a trade of it.
 */
export async function competitionStatus(uid: Hex, context: CompetitionStatusContext): Promise<CompetitionStatus> {
  const { store, now, listed } = context;
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
  return { type: listed.has(uid) ? 'active' : 'scheduled' };
}

/** The latest competition, while what was decided in it may still happen. */
async function running(store: Store): Promise<Competition | undefined> {
  const [latest, { indexedBlock }] = await Promise.all([latestCompetition(store), store.chain.progress()]);
  return latest !== undefined && latest.auctionDeadlineBlock >= (indexedBlock?.number ?? 0) ? latest : undefined;
}

async function toExecutions(trade: TradeChainEvent, store: Store): Promise<readonly SolverExecution[]> {
  const competition = await competitionOfTransaction(trade.transactionHash, store);
  if (competition !== undefined) return bids(competition, trade.uid);
  const settlements = await store.chain.settlements(trade.transactionHash);
  const settlement = settlements.find(({ logIndex }) => logIndex > trade.logIndex);
  const executedAmounts = { sell: trade.sellAmount, buy: trade.buyAmount };
  return settlement === undefined ? [] : [{ solver: settlement.solver, executedAmounts }];
}

function bids({ solutions }: Competition, uid: Hex): readonly SolverExecution[] {
  return solutions.map(({ solverAddress: solver, orders }) => {
    const bid = orders.find(({ id }) => id === uid);
    return { solver, executedAmounts: bid === undefined ? null : { sell: bid.sellAmount, buy: bid.buyAmount } };
  });
}

import { OrderBookError } from '../errors.ts';
import type { TradeChainEvent } from '../ports/chain-store.ts';
import type { Store } from '../ports/store.ts';
import type { Hex } from '../protocol/hex.ts';
import type { CompetitionStatus, SolverExecution } from '../records/competition-status.ts';
import { getOrderStatus } from '../records/order-json.ts';
import type { AuctionSelection } from './auction-api.ts';
import type { Competition } from './competition.ts';
import { competitionOfSettlement, hasOrder, pendingCompetitions } from './competition.ts';
import { type HasFailed, listInFlight } from './in-flight.ts';

/**
 * Returns the status of an order, from its state, its newest trade, and its solutions in the competitions whose
 * deadline block has not passed. See docs/internals/decisions.md#d4-3. Without recorded competitions only the order
 * itself counts. An order that was left out of the last auction is `open`. A part that is left after a fill has its own
 * status.
 *
 * @param now - Seconds since 1970.
 * @param selection - The last auction.
 * @throws OrderBookError `NotFound` if neither the order nor a trade of it exists.
 */
export async function competitionStatus(
  uid: Hex,
  store: Store,
  now: number,
  selection: Pick<AuctionSelection, 'block' | 'listed' | 'filtered'> | undefined,
  hasFailed: HasFailed,
): Promise<CompetitionStatus> {
  const [[order], [trade]] = await Promise.all([
    store.orders.get([uid]),
    store.chain.trades({ filter: { uid }, limit: 1 }),
  ]);
  if (order === undefined && trade === undefined)
    throw new OrderBookError('NotFound', 'there is no order with this UID');
  const status = order && getOrderStatus(order, now);
  if (status === 'cancelled') return { type: 'cancelled' };
  const traded = async () =>
    trade && ({ type: 'traded', value: await toExecutions(trade, store) } satisfies CompetitionStatus);
  if (status !== 'open') return (await traded()) ?? { type: 'open' };
  const tradedAt = trade?.blockNumber ?? 0;
  const bid = await findBid(uid, tradedAt, store, hasFailed);
  if (bid !== undefined) return bid;
  const isAfterTrade = selection !== undefined && selection.block >= tradedAt;
  if (isAfterTrade && selection.filtered.has(uid)) return { type: 'open' };
  if (isAfterTrade && selection.listed.has(uid)) return { type: 'active' };
  return (await traded()) ?? { type: 'scheduled' };
}

/**
 * Finds a winning solution that is in flight, otherwise a solution of the latest competition that has lost. A winner
 * that is not settled is offered again, so it counts as neither.
 */
async function findBid(
  uid: Hex,
  tradedAt: number,
  store: Store,
  hasFailed: HasFailed,
): Promise<CompetitionStatus | undefined> {
  const { indexedBlock } = await store.chain.progress();
  const block = indexedBlock?.number ?? 0;
  const pending = await pendingCompetitions(block, store, uid);
  const winning = pending.find((each) => listInFlight(each, block, hasFailed).has(uid));
  if (winning !== undefined) return { type: 'executing', value: bids(winning, uid) };
  const latest = await store.auctions.lastCompetition();
  const solved = pending.find(({ auctionId }) => auctionId === latest);
  const hasLost = solved !== undefined && solved.auctionStartBlock >= tradedAt && hasOrder(solved, uid);
  if (!hasLost || solved.solutions.some((each) => each.isWinner && hasOrder({ solutions: [each] }, uid)))
    return undefined;
  return { type: 'solved', value: bids(solved, uid) };
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

function bids({ solutions }: Pick<Competition, 'solutions'>, uid: Hex): readonly SolverExecution[] {
  return solutions.map(({ solverAddress: solver, orders }) => {
    const bid = orders.find(({ id }) => id === uid);
    return { solver, executedAmounts: bid === undefined ? null : { sell: bid.sellAmount, buy: bid.buyAmount } };
  });
}

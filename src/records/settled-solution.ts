import type { ProtocolFee, SettlementChainEvent, TradeChainEvent } from '../ports/chain-store.ts';
import type { Store } from '../ports/store.ts';
import type { Address, Hex } from '../protocol/hex.ts';

/** The part of a competition that decides which solution a settlement has executed. */
interface SettledCompetition<S> {
  readonly auctionStartBlock: number;
  readonly auctionDeadlineBlock: number;
  readonly solutions: readonly S[];
}

/** A solution with its executed amounts: decimal strings of atoms. */
interface SettledSolution {
  readonly solverAddress: Address;
  readonly isWinner: boolean;
  readonly orders: readonly { readonly id: Hex; readonly sellAmount: string; readonly buyAmount: string }[];
}

/** A settlement with its trades. */
export interface ExecutedSettlement {
  readonly solver: Address;
  readonly blockNumber: number;
  readonly trades: readonly ExecutedTrade[];
}

/** Amounts in atoms. */
export interface ExecutedTrade {
  readonly uid: Hex;
  readonly sold: bigint;
  readonly bought: bigint;
}

/**
 * Blocks after the deadline of an auction in which a transaction that was sent in time may still be included. A later
 * settlement is of another book on the same contract.
 */
export const SETTLEMENT_MARGIN = 100;

/** Maximum number of trades of a transaction that are compared. */
const MAX_TRADES = 1000;

/**
 * Finds the winning solution that a settlement has executed. Other books on the same contract give out the same auction
 * ids. So the solver and the executed orders and amounts decide, and the blocks of the auction.
 */
export function findSettledSolution<S extends SettledSolution>(
  { auctionStartBlock, auctionDeadlineBlock, solutions }: SettledCompetition<S>,
  { solver, blockNumber, trades }: ExecutedSettlement,
): S | undefined {
  if (blockNumber < auctionStartBlock || blockNumber > auctionDeadlineBlock + SETTLEMENT_MARGIN) return undefined;
  const executed = new Map<Hex, Omit<ExecutedTrade, 'uid'>>();
  for (const { uid, sold, bought } of trades) {
    const before = executed.get(uid) ?? { sold: 0n, bought: 0n };
    executed.set(uid, { sold: before.sold + sold, bought: before.bought + bought });
  }
  return solutions.find(({ isWinner, solverAddress, orders }) => {
    if (!isWinner || solverAddress !== solver || orders.length !== executed.size) return false;
    // One amount is fixed by the solution. The other one may be better than promised, or rounded.
    return orders.every(({ id, sellAmount, buyAmount }) => {
      const trade = executed.get(id);
      return trade !== undefined && (trade.sold === BigInt(sellAmount) || trade.bought === BigInt(buyAmount));
    });
  });
}

/** Reads the trades of a settlement. The contract emits them before its event, and after an earlier settlement. */
export async function readExecutedSettlement(
  { solver, blockNumber, transactionHash, logIndex }: SettlementChainEvent,
  { chain }: Pick<Store, 'chain'>,
): Promise<ExecutedSettlement> {
  const [settlements, trades] = await Promise.all([
    chain.settlements(transactionHash),
    chain.trades({ filter: { transactionHash }, limit: MAX_TRADES }),
  ]);
  const before = settlements.reduce((last, each) => (each.logIndex < logIndex ? each.logIndex : last), -1);
  return {
    solver,
    blockNumber,
    trades: trades
      .filter((trade) => trade.logIndex > before && trade.logIndex < logIndex)
      .map((trade) => toExecutedTrade(trade.uid, trade)),
  };
}

/** Returns the amounts of a trade. The signed fee of very old orders is part of the sold amount. */
export function toExecutedTrade(
  uid: Hex,
  { sellAmount, buyAmount }: { readonly sellAmount: string | bigint; readonly buyAmount: string | bigint },
): ExecutedTrade {
  return { uid, sold: BigInt(sellAmount), bought: BigInt(buyAmount) };
}

/** Native prices by token: wei for 10^18 atoms, decimal. Tokens without a price are left out. */
export type AuctionPrices = Readonly<Record<Address, string>>;

/** The values of an auction that its trades are evaluated with. */
export interface SettledAuction {
  readonly prices: AuctionPrices;
  /** Computes the protocol fees of a trade from the policies that its order had in the auction. */
  protocolFees(trade: SolutionTrade): Promise<readonly ProtocolFee[]>;
}

/** A trade on chain. Amounts are decimal strings of atoms. */
export type SolutionTrade = Pick<
  TradeChainEvent,
  'uid' | 'sellToken' | 'buyToken' | 'sellAmount' | 'buyAmount' | 'feeAmount'
>;

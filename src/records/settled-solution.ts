import type { ProtocolFee, SettlementChainEvent, TradeChainEvent } from '../ports/chain-store.ts';
import type { Store } from '../ports/store.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { OrderKind } from '../protocol/order.ts';

/** The part of a competition that decides which solution a settlement has executed. */
export interface SettledCompetition<S> {
  readonly auctionStartBlock: number;
  readonly auctionDeadlineBlock: number;
  readonly solutions: readonly S[];
  /** Transactions of settlements with the auction id that were indexed before the competition was recorded. */
  readonly earlierTransactions?: readonly Hex[];
}

/** A solution with its executed amounts: decimal strings of atoms. */
interface SettledSolution {
  readonly solverAddress: Address;
  readonly isWinner: boolean;
  readonly orders: readonly { readonly id: Hex; readonly sellAmount: string; readonly buyAmount: string }[];
}

export interface ExecutedSettlement {
  readonly solver: Address;
  readonly blockNumber: number;
  readonly transactionHash: Hex;
  readonly trades: readonly ExecutedTrade[];
}

/** Amounts in atoms. */
export interface ExecutedTrade {
  readonly uid: Hex;
  /** `undefined`: the order is unknown. */
  readonly kind: OrderKind | undefined;
  readonly sold: bigint;
  readonly bought: bigint;
}

/**
 * Blocks after the deadline of an auction in which a transaction that was sent in time may still be included, and
 * blocks before the auction to which a reorganisation may move it. Others are of another book on the same contract.
 */
export const SETTLEMENT_MARGIN = 100;

/** Maximum number of trades of a transaction that are compared. */
const MAX_TRADES = 1000;

/**
 * Finds the winning solution that a settlement has executed. Other books on the same contract give out the same auction
 * ids. So the solver and the executed orders and amounts decide, and the blocks of the auction.
 */
export function findSettledSolution<S extends SettledSolution>(
  { auctionStartBlock: start, auctionDeadlineBlock: deadline, ...rest }: SettledCompetition<S>,
  { solver, blockNumber, transactionHash, trades }: ExecutedSettlement,
): S | undefined {
  const { solutions, earlierTransactions = [] } = rest;
  if (blockNumber < start - SETTLEMENT_MARGIN || blockNumber > deadline + SETTLEMENT_MARGIN) return undefined;
  if (blockNumber < start && earlierTransactions.includes(transactionHash)) return undefined;
  const executed = new Map<Hex, Omit<ExecutedTrade, 'uid'>>();
  for (const { uid, kind, sold, bought } of trades) {
    const before = executed.get(uid) ?? { sold: 0n, bought: 0n };
    executed.set(uid, { kind, sold: before.sold + sold, bought: before.bought + bought });
  }
  return solutions.find(({ isWinner, solverAddress, orders }) => {
    if (!isWinner || solverAddress !== solver || orders.length !== executed.size) return false;
    return orders.every(({ id, sellAmount, buyAmount }) => {
      const trade = executed.get(id);
      return trade !== undefined && isExecuted(trade, BigInt(sellAmount), BigInt(buyAmount));
    });
  });
}

/** Returns whether a trade has the amount of a solution in the fixed token of its order. The other may be better. */
function isExecuted(
  { kind, sold, bought }: Omit<ExecutedTrade, 'uid'>,
  sellAmount: bigint,
  buyAmount: bigint,
): boolean {
  if (kind === undefined)
    return (sold === sellAmount && bought >= buyAmount) || (bought === buyAmount && sold <= sellAmount);
  return kind === 'sell' ? sold === sellAmount : bought === buyAmount;
}

/** Reads the trades of a settlement. The contract emits them before its event, and after an earlier settlement. */
export async function readExecutedSettlement(
  { solver, blockNumber, transactionHash, logIndex }: SettlementChainEvent,
  { chain, orders }: Pick<Store, 'chain' | 'orders'>,
): Promise<ExecutedSettlement> {
  const [settlements, trades] = await Promise.all([
    chain.settlements(transactionHash),
    chain.trades({ filter: { transactionHash }, limit: MAX_TRADES }),
  ]);
  const before = settlements.reduce((last, each) => (each.logIndex < logIndex ? each.logIndex : last), -1);
  const own = trades.filter((trade) => trade.logIndex > before && trade.logIndex < logIndex);
  const rows = await orders.get([...new Set(own.map(({ uid }) => uid))]);
  const kinds = new Map(rows.map(({ uid, body }) => [uid, body.includes('"kind":"buy"') ? 'buy' : 'sell'] as const));
  return {
    solver,
    blockNumber,
    transactionHash,
    trades: own.map((trade) => toExecutedTrade(trade.uid, kinds.get(trade.uid), trade)),
  };
}

/** Returns the amounts of a trade. The signed fee of very old orders is part of the sold amount. */
export function toExecutedTrade(
  uid: Hex,
  kind: OrderKind | undefined,
  { sellAmount, buyAmount }: { readonly sellAmount: string | bigint; readonly buyAmount: string | bigint },
): ExecutedTrade {
  return { uid, kind, sold: BigInt(sellAmount), bought: BigInt(buyAmount) };
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

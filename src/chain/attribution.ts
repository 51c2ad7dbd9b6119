import type { EventPosition, ProtocolEvent, SettlementEvent } from '../protocol/event-decoder.ts';
import { type Address, bytesToHex, type Hex, unpackUid } from '../protocol/hex.ts';
import type { OrderHasher } from '../protocol/order.ts';
import { decodeSettle, type SettleCall, type SettledTrade } from '../protocol/settle-calldata.ts';
import { decodeSettledOrder } from '../protocol/settled-order.ts';
import { ceilDivide } from '../protocol/uint256.ts';
import { type ExecutedSettlement, type SettledAuction, toExecutedTrade } from '../records/settled-solution.ts';

/** A `Trade` of the settlement contract. */
export type AttributedEvent = EventPosition & Extract<SettlementEvent, { event: 'Trade' }>;
type Settlement = EventPosition & Extract<SettlementEvent, { event: 'Settlement' }>;

/** A settlement with its trades and its calldata. */
export interface Settled {
  readonly trades: readonly AttributedEvent[];
  readonly settlement: Settlement;
  readonly input: Hex;
}

/**
 * Assigns the calls of `settle` of a transaction to its settlements.
 *
 * The contract emits a `Trade` for each trade of a call, in order, then one `Settlement`. So the n-th settlement is the
 * n-th call, and the trades before it belong to it. If calls and events do not match, the result is empty.
 *
 * @param events - Events of one transaction, in order.
 * @param inputs - Calldata of its calls of `settle`, in order.
 */
export function pairSettlements(events: readonly ProtocolEvent[], inputs: readonly Hex[]): Settled[] {
  const settled: Settled[] = [];
  if (inputs.length !== events.filter((event) => event.event === 'Settlement').length) return settled;
  let trades: AttributedEvent[] = [];
  for (const event of events) {
    if (event.event === 'Trade') trades.push(event);
    if (event.event !== 'Settlement') continue;
    const input = inputs[settled.length];
    if (input !== undefined) settled.push({ trades, settlement: event, input });
    trades = [];
  }
  return settled;
}

/** The values that calldata and the auctions of the book add to an event of a settlement. */
export interface Attribution {
  /** Fee of a trade in atoms of the sell token. `undefined`: unknown. */
  readonly fee: bigint | undefined;
  /** The id that the calldata contains, which may be that of an auction of another book. */
  readonly auctionId: number | null;
  /** The auction of this book that was settled. */
  readonly auction: SettledAuction | undefined;
}

/** Returns the auction of this book that a settlement with this auction id belongs to. */
export type FindAuction = (auctionId: number, settlement: ExecutedSettlement) => Promise<SettledAuction | undefined>;

/** Finds the fees, the auction id and the auction of each settlement and of its trades. */
export async function attribute(
  settlements: readonly Settled[],
  findAuction: FindAuction,
): Promise<ReadonlyMap<ProtocolEvent, Attribution>> {
  const attributions = new Map<ProtocolEvent, Attribution>();
  for (const { trades, settlement, input } of settlements) {
    const call = decodeSettle(input);
    if (call === undefined) continue;
    const { auctionId } = call;
    const { solver, blockNumber, transactionHash } = settlement;
    const isComplete = trades.length === call.trades.length;
    const executed = {
      solver,
      blockNumber,
      transactionHash,
      trades: trades.map((trade, i) => {
        return toExecutedTrade(trade.orderUid, isComplete ? call.trades[i]?.kind : undefined, trade);
      }),
    };
    const auction = auctionId === null ? undefined : await findAuction(auctionId, executed);
    const fees = computeFees(trades, call);
    for (const event of [...trades, settlement]) attributions.set(event, { fee: fees.get(event), auctionId, auction });
  }
  return attributions;
}

/** Computes the fee of each trade of a settlement whose calldata belongs to it. */
function computeFees(trades: readonly AttributedEvent[], call: SettleCall): ReadonlyMap<ProtocolEvent, bigint> {
  const fees = new Map<ProtocolEvent, bigint>();
  if (trades.length !== call.trades.length) return fees;
  for (const [i, trade] of trades.entries()) {
    const settled = call.trades[i];
    const fee = settled && executedFee(settled, trade);
    if (fee !== undefined) fees.set(trade, fee);
  }
  return fees;
}

/** A trade as the contract emitted it. */
interface ObservedTrade {
  readonly sellToken: Address;
  readonly buyToken: Address;
  readonly sellAmount: bigint;
  readonly buyAmount: bigint;
  readonly feeAmount: bigint;
}

/**
 * Computes the fee of a trade beyond the signed fee: its amount at the uniform prices of the settlement, less its
 * executed amount. In atoms of the sell token; the fee of a sell order is converted from the buy token at those prices.
 * Exact: quotients are rounded as in GPv2Settlement.sol, `computeTradeExecution`.
 *
 * @returns `undefined` if the calldata does not belong to the trade, 0 if the trade got a better price.
 */
export function executedFee(settled: SettledTrade, trade: ObservedTrade): bigint | undefined {
  const { kind, uniform } = settled;
  if (!hasAmounts(settled, trade) || uniform.sell === 0n || uniform.buy === 0n) return undefined;
  const sold = trade.sellAmount - trade.feeAmount;
  if (kind === 'buy') {
    const fee = sold - (trade.buyAmount * uniform.buy) / uniform.sell;
    return fee > 0n ? fee : 0n;
  }
  const fee = ceilDivide(sold * uniform.sell, uniform.buy) - trade.buyAmount;
  return fee > 0n ? (fee * uniform.buy) / uniform.sell : 0n;
}

/** Returns whether a trade of calldata has the tokens and the fixed amount of a trade that the contract emitted. */
function hasAmounts({ kind, ...settled }: SettledTrade, trade: ObservedTrade): boolean {
  if (settled.sellToken !== trade.sellToken || settled.buyToken !== trade.buyToken) return false;
  const whole = kind === 'sell' ? settled.sellAmount : settled.buyAmount;
  const fixed = settled.partiallyFillable ? settled.executedAmount : whole;
  return fixed === (kind === 'sell' ? trade.sellAmount - trade.feeAmount : trade.buyAmount);
}

/**
 * Finds a trade that repeats an equal one of its transaction, although the calldata does not contain both. A node may
 * return one log under two indices, but an order may also be filled twice with equal amounts. Only calldata decides.
 *
 * @param inputs - Calldata of the calls of `settle` of each transaction.
 */
export function findRepeatedTrade(
  events: readonly ProtocolEvent[],
  inputs: ReadonlyMap<Hex, readonly Hex[]>,
  hasher: OrderHasher,
): ProtocolEvent | undefined {
  const equal = new Map<string, AttributedEvent[]>();
  for (const event of events) {
    if (event.event !== 'Trade') continue;
    const key = `${event.transactionHash} ${event.orderUid} ${event.sellAmount} ${event.buyAmount} ${event.feeAmount}`;
    const list = equal.get(key) ?? [];
    equal.set(key, list);
    if (list.every(({ logIndex }) => logIndex !== event.logIndex)) list.push(event);
  }
  for (const list of equal.values()) {
    const [trade] = list;
    if (trade === undefined || list.length === 1) continue;
    const count = countExecutions(trade, inputs.get(trade.transactionHash) ?? [], hasher);
    if (list.length > count) return list[Math.max(count, 1)];
  }
  return undefined;
}

/** Counts the trades of calldata that execute the order and the amounts of a trade. */
function countExecutions(trade: AttributedEvent, inputs: readonly Hex[], hasher: OrderHasher): number {
  const { digest } = unpackUid(trade.orderUid);
  const executions = inputs.flatMap((input) =>
    (decodeSettle(input)?.trades ?? []).filter((settled, i) => {
      const order = hasAmounts(settled, trade) ? decodeSettledOrder(input, i) : undefined;
      return order !== undefined && bytesToHex(hasher.digest(order.data)) === digest;
    }),
  );
  return executions.length;
}

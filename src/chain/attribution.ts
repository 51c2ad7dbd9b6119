import type { EventPosition, ProtocolEvent, SettlementEvent } from '../protocol/event-decoder.ts';
import type { Hex } from '../protocol/hex.ts';
import type { SettleCall } from '../protocol/settle-calldata.ts';
import { decodeSettle } from '../protocol/settle-calldata.ts';
import { executedFee } from './fees.ts';

/** A `Trade` of the settlement contract. */
export type Trade = EventPosition & Extract<SettlementEvent, { event: 'Trade' }>;
type Settlement = EventPosition & Extract<SettlementEvent, { event: 'Settlement' }>;

/** The fees and auction ids that a transaction's calldata reveals, by log index. */
export interface Attribution {
  readonly fees: ReadonlyMap<number, bigint>;
  /** Auction ids of trades and settlements. */
  readonly auctions: ReadonlyMap<number, number | null>;
}

/** A settlement with its trades and its calldata. */
export interface Settled {
  readonly trades: readonly Trade[];
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
  let trades: Trade[] = [];
  for (const event of events) {
    if (event.event === 'Trade') trades.push(event);
    if (event.event !== 'Settlement') continue;
    const input = inputs[settled.length];
    if (input !== undefined) settled.push({ trades, settlement: event, input });
    trades = [];
  }
  return settled;
}

/** Computes the fee of each trade of a transaction and the auction id of each settlement. See `pairSettlements`. */
export function attribute(events: readonly ProtocolEvent[], inputs: readonly Hex[]): Attribution {
  const fees = new Map<number, bigint>();
  const auctions = new Map<number, number | null>();
  for (const { trades, settlement, input } of pairSettlements(events, inputs)) {
    const call = decodeSettle(input);
    if (call === undefined) continue;
    for (const each of [...trades, settlement]) auctions.set(each.logIndex, call.auctionId);
    for (const [logIndex, fee] of computeFees(trades, call)) fees.set(logIndex, fee);
  }
  return { fees, auctions };
}

function computeFees(trades: readonly Trade[], call: SettleCall): [logIndex: number, fee: bigint][] {
  if (trades.length !== call.trades.length) return [];
  return trades.flatMap((trade, i): [number, bigint][] => {
    const settled = call.trades[i];
    const fee = settled && executedFee(settled, trade);
    return fee === undefined ? [] : [[trade.logIndex, fee]];
  });
}

import {
  type OrderChainEvent,
  PLACEMENT_ERRORS,
  type PlacementChainEvent,
  type TradeChainEvent,
  UNKNOWN_HASH,
} from '../ports/chain-store.ts';
import type { NewOrder } from '../ports/order-record.ts';
import type { StoredOrder } from '../ports/store.ts';
import type { UpstreamOrder, UpstreamTrade } from '../ports/upstream.ts';
import type { Hex } from '../protocol/hex.ts';
import { getOrderStatus } from './status.ts';

/** A difference between this book and the other one, and how it was resolved. */
export interface UpstreamDifference {
  readonly uid: Hex;
  /** What differs: the status of the order, its executed amounts, its fee, or its presence. */
  readonly field: 'status' | 'executed' | 'fee' | 'missing' | 'row';
  readonly local: string;
  readonly upstream: string;
  /**
   * `upstream`: this book has taken the value of the other one, which only that knows. `chain`: the chain decides, and
   * this book has indexed it. `none`: it stays, and is looked at again.
   */
  readonly resolution: 'upstream' | 'chain' | 'none';
}

/** What follows from a read of an order. */
export interface Reconciliation {
  /** Facts to adopt. */
  readonly events: readonly OrderChainEvent[];
  /** Whether the trades of the order are to be read: this book cannot read them from the chain. */
  readonly needsTrades: boolean;
  readonly differences: readonly UpstreamDifference[];
}

/**
 * Compares an order with that of the other book.
 *
 * | the other book | this book | resolution |
 * |---|---|---|
 * | cancelled | open, pending | the other book: only it knows off-chain cancellations |
 * | any | filled or traded more | the chain |
 * | filled or traded more | less | the chain, if it is followed; otherwise the trades of the other book |
 * | signed | waits for its signature | likewise |
 * | a fee | a lower one or none | the chain, if it is followed; otherwise the other book, which attributes fees later |
 * | open | cancelled here | this book: a read may be older than the cancellation |
 * | expired or open | open or expired | the clock of this book |
 *
 * @param isFollowed - Whether this book reads the chain, up to its head.
 * @param now - Seconds since 1970.
 */
export function reconcile(local: StoredOrder, found: UpstreamOrder, isFollowed: boolean, now: number): Reconciliation {
  const { uid } = local;
  const events: OrderChainEvent[] = [];
  const differences: UpstreamDifference[] = [];
  const status = getOrderStatus(local, now);
  const values = {
    status: [status, found.status ?? 'unknown'],
    executed: [
      `${local.executedSellAmount} ${local.executedBuyAmount}`,
      `${found.executedSellAmount} ${found.executedBuyAmount}`,
    ],
    fee: [local.executedFee, String(found.executedFee)],
  } as const;
  const differ = (resolution: UpstreamDifference['resolution'], field: keyof typeof values = 'status') =>
    differences.push({ uid, field, local: values[field][0], upstream: values[field][1], resolution });

  if (found.status === 'cancelled' && (local.state === 'open' || local.state === 'presignaturePending')) {
    events.push({ type: 'invalidation', uid, ...UNPLACED });
    differ('upstream');
  } else if (local.state === 'presignaturePending' && isSigned(found)) {
    if (!isFollowed) events.push({ type: 'presignature', uid, signed: true, ...UNPLACED });
    differ(isFollowed ? 'chain' : 'upstream');
  }

  const isBehind =
    found.executedSellAmount > BigInt(local.executedSellAmount) ||
    found.executedBuyAmount > BigInt(local.executedBuyAmount);
  const isAhead =
    found.executedSellAmount < BigInt(local.executedSellAmount) ||
    found.executedBuyAmount < BigInt(local.executedBuyAmount);
  // The fee arrives later than the amounts, and not at all for settlements that are not attributed.
  const lacksFee = !isFollowed && !isBehind && found.executedFee > BigInt(local.executedFee);
  if (lacksFee) differ('upstream', 'fee');
  if (isBehind || isAhead) differ(isBehind && !isFollowed ? 'upstream' : 'chain', 'executed');
  else if (local.state === 'cancelled' && (found.status === 'open' || found.status === 'presignaturePending'))
    differ('none');
  return { events, needsTrades: lacksFee || (isBehind && !isFollowed), differences };
}

/**
 * Returns the facts of an order that this book has not stored yet, by the word of the other book.
 *
 * @param trades - Its stored trades, newest first.
 */
export function toFacts(found: UpstreamOrder, trades: readonly TradeChainEvent[]): OrderChainEvent[] {
  const { uid, status } = found;
  const facts: OrderChainEvent[] = withFee(trades, found.executedFee);
  if (isSigned(found)) facts.push({ type: 'presignature', uid, signed: true, ...UNPLACED });
  if (status === 'cancelled') facts.push({ type: 'invalidation', uid, ...UNPLACED });
  return facts;
}

/** Returns the placement of an order on chain, by the word of the other book; `undefined` for other orders. */
export function toPlacement(found: UpstreamOrder, order: NewOrder): PlacementChainEvent | undefined {
  const { uid, onchainUser: sender, userValidTo = null, placementError: error } = found;
  if (sender === undefined) return undefined;
  // An error of a later release is an error.
  const placementError =
    PLACEMENT_ERRORS.find((name) => name === error) ?? (error === undefined ? null : 'PreValidationError');
  return { type: 'placement', uid, order, sender, userValidTo, placementError, ...UNPLACED };
}

/** Converts trades, newest first, to chain events. Those without a transaction are read again later. */
export function toChainEvents(trades: readonly UpstreamTrade[], fees: ReadonlyMap<Hex, bigint>): TradeChainEvent[] {
  const events = trades.flatMap((trade): TradeChainEvent[] => {
    const { uid, owner, blockNumber, logIndex, transactionHash, sellToken, buyToken } = trade;
    if (transactionHash === undefined || blockNumber === 0) return [];
    return [
      {
        type: 'trade',
        uid,
        owner,
        sellToken,
        buyToken,
        sellAmount: String(trade.sellAmount),
        buyAmount: String(trade.buyAmount),
        feeAmount: String(trade.sellAmount - trade.sellAmountBeforeFees),
        executedFee: null,
        prices: null,
        protocolFees: [],
        blockNumber,
        logIndex,
        blockHash: UNKNOWN_HASH,
        transactionHash,
        timestamp: null,
      },
    ];
  });
  const uids = [...new Set(events.map(({ uid }) => uid))];
  return uids.flatMap((uid) => {
    const own = events.filter((event) => event.uid === uid);
    return fees.has(uid) ? withFee(own, fees.get(uid) ?? 0n) : own;
  });
}

/** The other book reports the sum of the fees of an order: the newest of its trades carries it. 0: not known yet. */
function withFee(trades: readonly TradeChainEvent[], fee: bigint): TradeChainEvent[] {
  const rest = trades.reduce((left, { feeAmount }) => left - BigInt(feeAmount), fee);
  if (rest <= 0n) return trades.map((trade) => ({ ...trade, executedFee: null }));
  return trades.map((trade, i) => ({ ...trade, executedFee: i === 0 ? String(rest) : '0' }));
}

const isSigned = ({ signingScheme, status }: UpstreamOrder) =>
  signingScheme === 'presign' && (status === 'open' || status === 'fulfilled');

/** A position before all others: the other book does not report it. */
const UNPLACED = {
  blockNumber: 0,
  logIndex: 0,
  blockHash: UNKNOWN_HASH,
  transactionHash: UNKNOWN_HASH,
  timestamp: null,
} as const;

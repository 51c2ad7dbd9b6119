import { type OrderChainEvent, UNKNOWN_HASH } from '../ports/chain-store.ts';
import type { StoredOrder } from '../ports/store.ts';
import type { UpstreamOrder, UpstreamTrade } from '../ports/upstream.ts';
import type { Hex } from '../protocol/hex.ts';
import { getOrderStatus } from './status.ts';

/** A difference between this book and the other one, and how it was resolved. */
export interface UpstreamDifference {
  readonly uid: Hex;
  /** What differs: the status of the order, its executed amounts, or its presence. */
  readonly field: 'status' | 'executed' | 'missing' | 'row';
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
  const differ = (resolution: UpstreamDifference['resolution'], field: UpstreamDifference['field'] = 'status') =>
    differences.push({
      uid,
      field,
      local: field === 'status' ? status : `${local.executedSellAmount} ${local.executedBuyAmount}`,
      upstream:
        field === 'status' ? (found.status ?? 'unknown') : `${found.executedSellAmount} ${found.executedBuyAmount}`,
      resolution,
    });

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
  if (isBehind || isAhead) differ(isBehind && !isFollowed ? 'upstream' : 'chain', 'executed');
  else if (local.state === 'cancelled' && (found.status === 'open' || found.status === 'presignaturePending'))
    differ('none');
  return { events, needsTrades: isBehind && !isFollowed, differences };
}

/** Returns the facts of an order that this book has not stored yet, by the word of the other book. */
export function toFacts(found: UpstreamOrder): OrderChainEvent[] {
  const { uid, status } = found;
  const facts: OrderChainEvent[] = [];
  if (isSigned(found)) facts.push({ type: 'presignature', uid, signed: true, ...UNPLACED });
  if (status === 'cancelled') facts.push({ type: 'invalidation', uid, ...UNPLACED });
  return facts;
}

/** Converts trades to chain events. Those without a transaction are read again later. */
export function toChainEvents(trades: readonly UpstreamTrade[], fees: ReadonlyMap<Hex, bigint>): OrderChainEvent[] {
  const paid = new Set<Hex>();
  return trades.flatMap((trade): OrderChainEvent[] => {
    const { uid, owner, blockNumber, logIndex, transactionHash, sellToken, buyToken } = trade;
    if (transactionHash === undefined || blockNumber === 0) return [];
    // The other book reports the fee of the order only: its newest trade carries it, and trades come newest first.
    const fee = paid.has(uid) ? undefined : fees.get(uid);
    paid.add(uid);
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
        executedFee: fee === undefined ? null : String(fee),
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

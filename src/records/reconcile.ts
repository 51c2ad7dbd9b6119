import {
  type OrderChainEvent,
  PLACEMENT_ERRORS,
  type PlacementChainEvent,
  type TradeChainEvent,
} from '../ports/chain-store.ts';
import type { NewOrder } from '../ports/order-record.ts';
import type { StoredOrder } from '../ports/store.ts';
import type { UpstreamOrder, UpstreamTrade } from '../ports/upstream.ts';
import { type Hex, UNKNOWN_HASH } from '../protocol/hex.ts';
import { formatPosition } from './chain-batch.ts';
import { getOrderStatus } from './order-json.ts';

/** A difference between this book and the other one, and how it was resolved. */
export interface UpstreamDifference {
  /** `null`: a row of a list that cannot be read, so that its order is not known. */
  readonly uid: Hex | null;
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
  /** Whether adopted facts that the other book does not know any more are to be reverted. */
  readonly isReverted: boolean;
  /** Whether the other book knows less. A read may be older than what this book knows, so it must last. */
  readonly isDisputed: boolean;
  readonly differences: readonly UpstreamDifference[];
}

/** What this book knows besides the order. */
export interface LocalKnowledge {
  /**
   * `all`: this book has read the chain, up to its head, since the order exists. `later`: it has begun after the order
   * was created. `none`: it does not read the chain.
   */
  readonly chain: 'all' | 'later' | 'none';
  /** Whether earlier reads have disputed the order too, for longer than the replicas of the other book may lag. */
  readonly isLasting: boolean;
  /** Seconds since 1970. */
  readonly now: number;
}

/**
 * Compares an order with that of the other book. What happened on chain before this book began to read it is known by
 * the other book only.
 *
 * | the other book | this book | resolution |
 * |---|---|---|
 * | cancelled | open, pending | the other book: only it knows those off chain; the chain if it has all |
 * | filled or traded more | less | the chain, if it is followed; otherwise the trades of the other book |
 * | filled or traded less | more | the chain, if it is followed; otherwise the other book, if it lasts |
 * | signed | waits for its signature | the chain if it has all; otherwise the other book |
 * | waits for its signature, open | signed, cancelled | the other book, if it lasts and the fact is adopted |
 * | expired, not cancelled | cancelled | the other book, if it lasts and the fact is adopted |
 * | a fee | a lower one or none | the chain, if it is followed; otherwise the other book, which attributes fees later |
 * | expired or open | open or expired | the clock of this book |
 * | a status that this release does not know | any | it stays |
 */
export function reconcile(local: StoredOrder, found: UpstreamOrder, context: LocalKnowledge): Reconciliation {
  const { uid } = local;
  const { chain, isLasting, now } = context;
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

  const isOpen = found.status === 'open' || found.status === 'presignaturePending';
  const isUnsigned =
    local.state === 'open' && found.status === 'presignaturePending' && found.signingScheme === 'presign';
  // An expired order that was cancelled would be reported as cancelled. Its presignature, which the other book does not
  // report after the end, is reverted as well: it has no effect any more.
  const hasExpired = found.status === 'expired' && !found.invalidated;
  const isReopened = local.state === 'cancelled' && (isOpen || hasExpired);
  if (found.status === 'cancelled' && (local.state === 'open' || local.state === 'presignaturePending')) {
    const isChains = chain === 'all' && !isEcdsa(found);
    if (!isChains) events.push({ type: 'invalidation', uid, ...UNPLACED });
    differ(isChains ? 'chain' : 'upstream');
  } else if (local.state === 'presignaturePending' && isSigned(found)) {
    // The other book may have read a block that this book is about to read.
    const isAdopted = chain === 'none' || (chain === 'later' && isLasting);
    if (isAdopted) events.push({ type: 'presignature', uid, signed: true, ...UNPLACED });
    differ(isAdopted ? 'upstream' : 'chain');
  } else if (isUnsigned || isReopened) differ(isLasting ? 'upstream' : 'none');
  else if (found.status === undefined) differ('none'); // of a later release

  const isBehind =
    found.executedSellAmount > BigInt(local.executedSellAmount) ||
    found.executedBuyAmount > BigInt(local.executedBuyAmount);
  const isAhead =
    found.executedSellAmount < BigInt(local.executedSellAmount) ||
    found.executedBuyAmount < BigInt(local.executedBuyAmount);
  // The fee arrives later than the amounts, and not at all for settlements that are not attributed.
  const lacksFee = chain === 'none' && !isBehind && !isAhead && found.executedFee > BigInt(local.executedFee);
  if (lacksFee) differ('upstream', 'fee');
  const isTaken = isBehind ? chain !== 'all' : chain === 'none' && isLasting;
  if (isBehind || isAhead) differ(isTaken ? 'upstream' : chain === 'none' ? 'none' : 'chain', 'executed');
  const isReverted = (isUnsigned || isReopened || (isAhead && chain === 'none')) && isLasting;
  const needsTrades = lacksFee || (isBehind && isTaken) || (isReverted && chain === 'none');
  const isWaiting = local.state === 'presignaturePending' && isSigned(found) && chain === 'later';
  return {
    events,
    needsTrades,
    isReverted,
    // A cancellation by signature is not adopted, so it is not reverted.
    isDisputed: isUnsigned || (isReopened && !(hasExpired && isLasting)) || isWaiting || (isAhead && chain === 'none'),
    differences,
  };
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
  // A row may be on two pages, or twice on one. Its fee would be counted twice.
  const unique = [...new Map(events.map((event) => [formatPosition(event), event])).values()];
  const uids = [...new Set(unique.map(({ uid }) => uid))];
  return uids.flatMap((uid) => {
    const own = unique.filter((event) => event.uid === uid);
    return fees.has(uid) ? withFee(own, fees.get(uid) ?? 0n) : own;
  });
}

/** The other book reports the sum of the fees of an order: the newest of its trades carries it. 0: not known yet. */
function withFee(trades: readonly TradeChainEvent[], fee: bigint): TradeChainEvent[] {
  const rest = trades.reduce((left, { feeAmount }) => left - BigInt(feeAmount), fee);
  if (rest <= 0n) return trades.map((trade) => ({ ...trade, executedFee: null }));
  return trades.map((trade, i) => ({ ...trade, executedFee: i === 0 ? String(rest) : '0' }));
}

const isEcdsa = ({ signingScheme }: UpstreamOrder) => signingScheme === 'eip712' || signingScheme === 'ethsign';

/** Returns whether a presign order is signed. One that has ended may have been; a fill proves it. */
const isSigned = ({ signingScheme, status, executedSellAmount }: UpstreamOrder) =>
  signingScheme === 'presign' &&
  (status === 'open' || status === 'fulfilled' || (status !== 'presignaturePending' && executedSellAmount > 0n));

/** A position before all others: the other book does not report it. */
const UNPLACED = {
  blockNumber: 0,
  logIndex: 0,
  blockHash: UNKNOWN_HASH,
  transactionHash: UNKNOWN_HASH,
  timestamp: null,
} as const;

import type { ChainEvent, OrderChainEvent, PlacementChainEvent } from '../ports/chain-store.ts';
import type { ChainCause, LogPosition, OrderEventType } from '../ports/order-events.ts';
import type { Budget, NewOrder, OrderState } from '../ports/order-record.ts';
import type { NewEvent } from '../ports/store.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { OrderKind } from '../protocol/order.ts';
import type { SigningScheme } from '../protocol/signature.ts';
import { unpackUid } from '../protocol/uid.ts';

/** What a store knows of an order besides the chain's facts. */
export interface KnownOrder {
  readonly uid: Hex;
  readonly body: string;
  readonly signingScheme: SigningScheme;
  readonly budget: Budget;
  /** Its owner, or a replacement, has cancelled it off chain. */
  readonly cancelledOffChain: boolean;
  /** The row is there because the order was placed on chain, and for no other reason. */
  readonly placedOnChain: boolean;
  /** Its effective validity so far, in seconds since 1970. */
  readonly validTo: number;
  /** It was swept up as expired: open or waiting by its state, and not live any more. */
  readonly expiryRecorded: boolean;
}

/** An order whose facts change. */
export interface AffectedOrder {
  readonly uid: Hex;
  /** Absent: there is no such order. */
  readonly order: KnownOrder | undefined;
  /** Its facts so far, and those it has from now on, both in the order of the chain. */
  readonly before: readonly OrderChainEvent[];
  readonly after: readonly OrderChainEvent[];
}

/** What facts make of an order: every kept column that the chain has a say in. */
export interface OrderProgress {
  readonly state: OrderState;
  readonly invalidated: boolean;
  readonly budget: Budget;
  /** Effective validity, in seconds since 1970. */
  readonly validTo: number;
  /** Whether it stays swept up. An order that is not, and is open or waiting, is live again until it is swept. */
  readonly expiryRecorded: boolean;
  readonly executedSellAmount: string;
  readonly executedBuyAmount: string;
  readonly executedFeeAmount: string;
  readonly executedFee: string;
  readonly executedFeeToken: Address | null;
  /** The members that a placement on chain adds to the order, rendered as a JSON object. */
  readonly placement: string | null;
  /** Who has placed it on chain. */
  readonly onchainUser: Address | null;
}

/** What is to be done to a row. */
export type RowChange =
  | { readonly type: 'update'; readonly uid: Hex; readonly progress: OrderProgress }
  | { readonly type: 'insert'; readonly order: NewOrder; readonly progress: OrderProgress }
  | { readonly type: 'delete'; readonly uid: Hex };

/** What a store has to write. */
export interface OrderStateProjection {
  readonly rows: readonly RowChange[];
  /** For the log, in this order. */
  readonly events: readonly NewEvent[];
}

/**
 * Judges what facts change about orders. Pure: every store calls it inside its own step, with all the facts of the orders
 * that a batch touches, and writes what it answers. Rows are made anew from all facts of an order instead of being counted up
 * and down, so that applying and taking back cannot drift apart.
 *
 * @param at milliseconds since 1970, the time of entries that have none of their own.
 */
export function projectOrderState(affected: readonly AffectedOrder[], at: number): OrderStateProjection {
  const rows: RowChange[] = [];
  const revived: NewEvent[] = [];
  const reverted: NewEvent[] = [];
  const added: NewEvent[] = [];
  const expired: NewEvent[] = [];
  for (const { uid, order, before, after } of affected) {
    const placement = after.find(isPlacement);
    const born = order === undefined ? placement !== undefined : order.placedOnChain;
    const now = order ?? (placement && fromPlacement(placement));
    if (now === undefined) continue; // nobody knows the order yet: its facts wait

    const was = order === undefined ? [] : standingEvents(now, before, born, at);
    const is = born && placement === undefined ? [] : standingEvents(now, after, born, at);
    const [gone, come] = difference(was, is);
    reverted.push(...gone.map((event) => revert(event, at)));
    added.push(...come);

    const progress = computeProgress(now, after);
    const wasExpired = now.expiryRecorded && emitsExpiry(now, before);
    const isExpired = progress.expiryRecorded && emitsExpiry(now, after) && !(born && placement === undefined);
    if (wasExpired && !isExpired) revived.push({ type: 'reinstated', uid, owner: unpackUid(uid).owner, at });
    if (isExpired && !wasExpired) expired.push(createExpiryEvent(uid, progress.validTo));

    if (born && placement === undefined) rows.push({ type: 'delete', uid });
    else if (order === undefined && placement !== undefined) {
      rows.push({ type: 'insert', order: placement.order, progress });
    } else if (gone.length > 0 || come.length > 0) rows.push({ type: 'update', uid, progress });
  }
  reverted.sort((a, b) => compareByPosition(b, a));
  added.sort(compareByPosition);
  return { rows, events: [...revived, ...reverted, ...added, ...expired] };
}

/** The entry that says that an order has expired, dated to the first second in which it was. */
export function createExpiryEvent(uid: Hex, validTo: number): NewEvent {
  return { type: 'expired', uid, owner: unpackUid(uid).owner, at: (validTo + 1) * 1000 };
}

/**
 * Whether it is told when this order expires: not of one that waits for a signature on chain which was never given
 * (decision 5.1).
 *
 * @param facts all facts of the order.
 */
export function emitsExpiry(
  { signingScheme }: Pick<KnownOrder, 'signingScheme'>,
  facts: readonly OrderChainEvent[],
): boolean {
  return signingScheme !== 'presign' || facts.some((fact) => fact.type === 'presignature' && fact.signed);
}

/**
 * The version of a row that is inserted because its order was placed on chain. Such a row can go and come again, so it
 * starts where no row of its UID has been: every change writes to the log, and rows that were sent in start at 1.
 *
 * @param lastEventId the id of the newest entry of the log.
 */
export function getPlacementVersion(lastEventId: number): number {
  return 2 ** 32 + lastEventId;
}

/** Puts facts in the order of the chain. */
export function compareLogPositions(a: LogPosition, b: LogPosition): number {
  return a.blockNumber - b.blockNumber || a.logIndex - b.logIndex;
}

/** Whether a fact is about an order. */
export function isOrderChainEvent(fact: ChainEvent): fact is OrderChainEvent {
  return fact.type !== 'settlement';
}

/** Sums up what facts make of an order (decision 2.22). */
export function computeProgress(order: KnownOrder, facts: readonly OrderChainEvent[]): OrderProgress {
  let [sold, bought, signedFee, fee] = [0n, 0n, 0n, 0n];
  let feeToken: Address | null = null;
  let invalidated = order.cancelledOffChain;
  let signed = false;
  let placement: PlacementChainEvent | undefined;
  let refundTxHash: Hex | null = null;
  for (const fact of facts) {
    switch (fact.type) {
      case 'trade':
        sold += BigInt(fact.sellAmount);
        bought += BigInt(fact.buyAmount);
        signedFee += BigInt(fact.feeAmount);
        if (fact.executedFee === null) break;
        fee += BigInt(fact.executedFee);
        feeToken ??= fact.sellToken;
        break;
      case 'invalidation':
        invalidated = true;
        break;
      case 'presignature':
        signed = fact.signed;
        break;
      case 'placement':
        placement ??= fact;
        break;
      case 'refund':
        refundTxHash ??= fact.transactionHash;
        break;
    }
  }
  const presigns = order.signingScheme === 'presign';
  const waits = presigns && !signed;
  const filled = isFilled(readTerms(order.body), sold - signedFee, bought);
  const validTo = placement?.userValidTo ?? unpackUid(order.uid).validTo;
  return {
    state: filled ? 'fulfilled' : invalidated ? 'cancelled' : waits ? 'presignaturePending' : 'open',
    expiryRecorded: order.expiryRecorded && !filled && !invalidated && validTo <= order.validTo,
    invalidated,
    budget: presigns ? (signed ? 'open' : 'pending') : order.budget,
    validTo,
    executedSellAmount: String(sold),
    executedBuyAmount: String(bought),
    executedFeeAmount: String(signedFee),
    executedFee: String(fee),
    executedFeeToken: feeToken,
    placement: placement === undefined ? null : renderPlacement(placement, refundTxHash),
    onchainUser: placement?.sender ?? null,
  };
}

/** The entries of the log that an order's facts stand for. */
function standingEvents(order: KnownOrder, facts: readonly OrderChainEvent[], born: boolean, at: number): NewEvent[] {
  const { uid } = order;
  const { owner } = unpackUid(uid);
  const terms = readTerms(order.body);
  const events: NewEvent[] = [];
  const ordinals = new Map<Hex, number>();
  let [sold, bought] = [0n, 0n];
  let filled = false;
  let invalidated = order.cancelledOffChain;
  let signed = false;
  let placed = false;
  let refunded = false;

  const tell = (type: OrderEventType, fact: OrderChainEvent, trade?: ChainCause['trade']) => {
    const { blockNumber, blockHash, logIndex, transactionHash, timestamp } = fact;
    const position = { blockNumber, blockHash, logIndex, transactionHash };
    const cause = trade === undefined ? { position } : { position, trade };
    events.push({ type, uid, owner, at: timestamp === null ? at : timestamp * 1000, cause });
  };

  for (const fact of facts) {
    switch (fact.type) {
      case 'trade': {
        const ordinal = (ordinals.get(fact.transactionHash) ?? 0) + 1;
        ordinals.set(fact.transactionHash, ordinal);
        sold += BigInt(fact.sellAmount) - BigInt(fact.feeAmount);
        bought += BigInt(fact.buyAmount);
        const completes: boolean = !filled && isFilled(terms, sold, bought);
        filled ||= completes;
        const { sellAmount, buyAmount, feeAmount } = fact;
        tell('traded', fact, { ordinal, completes, sellAmount, buyAmount, feeAmount });
        break;
      }
      case 'invalidation':
        if (!invalidated) tell('cancelled', fact);
        invalidated = true;
        break;
      case 'presignature':
        if (order.signingScheme !== 'presign' || fact.signed === signed) break;
        tell(fact.signed ? 'presigned' : 'presignatureRevoked', fact);
        signed = fact.signed;
        break;
      case 'placement':
        if (!placed) tell(born ? 'created' : 'placed', fact);
        placed = true;
        break;
      case 'refund':
        if (!refunded) tell('refunded', fact);
        refunded = true;
        break;
    }
  }
  return events;
}

function revert({ type, uid, owner, cause }: NewEvent, at: number): NewEvent {
  if (cause === undefined || type === 'reverted' || type === 'expired' || type === 'reinstated')
    throw new Error('only what the chain has told can be taken back');
  return { type: 'reverted', uid, owner, at, cause: { ...cause, reverted: type } };
}

function difference(was: readonly NewEvent[], is: readonly NewEvent[]): [gone: NewEvent[], come: NewEvent[]] {
  if (was.length === 0 || is.length === 0) return [[...was], [...is]];
  const key = ({ type, cause }: NewEvent) => JSON.stringify([type, cause]);
  const [before, after] = [new Set(was.map(key)), new Set(is.map(key))];
  return [was.filter((event) => !after.has(key(event))), is.filter((event) => !before.has(key(event)))];
}

function compareByPosition(a: NewEvent, b: NewEvent): number {
  return a.cause === undefined || b.cause === undefined ? 0 : compareLogPositions(a.cause.position, b.cause.position);
}

function isPlacement(fact: OrderChainEvent): fact is PlacementChainEvent {
  return fact.type === 'placement';
}

function fromPlacement({ order }: PlacementChainEvent): KnownOrder {
  const { uid, body, signingScheme, budget, validTo } = order;
  return {
    uid,
    body,
    signingScheme,
    budget,
    validTo,
    cancelledOffChain: false,
    placedOnChain: true,
    expiryRecorded: false,
  };
}

interface Terms {
  readonly kind: OrderKind;
  readonly fixedAmount: bigint;
}

/** What decides when an order is filled. A damaged body, which reads report, must not hold up the chain: it never fills. */
function readTerms(body: string): Terms | undefined {
  try {
    const { kind, sellAmount, buyAmount } = JSON.parse(body) as {
      kind: OrderKind;
      sellAmount: string;
      buyAmount: string;
    };
    return { kind, fixedAmount: BigInt(kind === 'buy' ? buyAmount : sellAmount) };
  } catch {
    return undefined;
  }
}

function isFilled(terms: Terms | undefined, sold: bigint, bought: bigint): boolean {
  if (terms === undefined) return false;
  const executed = terms.kind === 'buy' ? bought : sold;
  return executed > 0n && executed >= terms.fixedAmount;
}

function renderPlacement(
  { sender, placementError, userValidTo }: PlacementChainEvent,
  refundTxHash: Hex | null,
): string {
  return JSON.stringify({
    onchainUser: sender,
    onchainOrderData: placementError === null ? { sender } : { sender, placementError },
    ...(userValidTo === null ? {} : { ethflowData: { userValidTo, refundTxHash, isRefunded: refundTxHash !== null } }),
  });
}

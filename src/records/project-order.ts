import type { OrderChainEvent, PlacementChainEvent } from '../ports/chain-store.ts';
import type { ChainCause, OrderEventType } from '../ports/order-events.ts';
import type { NewOrder, OrderState, QuotaClass } from '../ports/order-record.ts';
import type { NewEvent } from '../ports/store.ts';
import { type Address, type Hex, unpackUid } from '../protocol/hex.ts';
import type { OrderKind } from '../protocol/order.ts';
import type { SigningScheme } from '../protocol/signature.ts';
import { compareLogPositions } from './chain-batch.ts';
import { createExpiryEvent, emitsExpiry } from './expiry-event.ts';

/** The data of an order that does not come from chain events. */
export interface KnownOrder {
  readonly uid: Hex;
  readonly body: string;
  readonly signingScheme: SigningScheme;
  readonly quotaClass: QuotaClass;
  /** Whether its owner, or a replacement, cancelled it off chain. */
  readonly cancelledOffChain: boolean;
  /** Whether the row exists only because the order was placed or traded on chain. */
  readonly placedOnChain: boolean;
  /** Effective validity before this projection, in seconds since 1970. */
  readonly validTo: number;
  /** Whether its expiry is recorded: open or pending by its state, but no longer live. */
  readonly expiryRecorded: boolean;
}

/** An order whose chain events change. */
export interface AffectedOrder {
  readonly uid: Hex;
  /** Absent: the order does not exist. */
  readonly order: KnownOrder | undefined;
  /** Its chain events before and after the change, sorted by position. */
  readonly before: readonly OrderChainEvent[];
  readonly after: readonly OrderChainEvent[];
}

/** The stored columns of an order that depend on chain events. */
export interface OrderProgress {
  readonly state: OrderState;
  readonly invalidated: boolean;
  readonly quotaClass: QuotaClass;
  /** Effective validity, in seconds since 1970. */
  readonly validTo: number;
  /** Whether the expiry stays recorded. Otherwise an open or pending order is live until a sweep records its expiry. */
  readonly expiryRecorded: boolean;
  readonly executedSellAmount: string;
  readonly executedBuyAmount: string;
  readonly executedFeeAmount: string;
  readonly executedFee: string;
  readonly executedFeeToken: Address | null;
  /** The members that a placement on chain adds to the order, rendered as a JSON object. */
  readonly placement: string | null;
  /** The account that placed it on chain. */
  readonly onchainUser: Address | null;
}

/** A change of a row. */
export type RowChange =
  | { readonly type: 'update'; readonly uid: Hex; readonly progress: OrderProgress }
  | { readonly type: 'insert'; readonly order: NewOrder; readonly progress: OrderProgress }
  | { readonly type: 'delete'; readonly uid: Hex };

/** Rows and log entries that a store must write. */
export interface OrderStateProjection {
  readonly rows: readonly RowChange[];
  /** Log entries, in order. */
  readonly events: readonly NewEvent[];
}

/**
 * Computes how chain events change orders. A pure function: every store calls it in its atomic step, with all chain
 * events of the orders that a batch affects, and writes the result. A row is computed from all chain events of its
 * order, not incremented. So apply and rollback cannot diverge.
 *
 * @param at - Time of entries without a block time, in milliseconds since 1970.
 * @param pendingValidity - Seconds that an order waits anew if the events that prove its signature are removed.
 *   Default: until the end of its validity.
 */
export function projectOrderState(
  affected: readonly AffectedOrder[],
  at: number,
  pendingValidity = Number.POSITIVE_INFINITY,
): OrderStateProjection {
  const rows: RowChange[] = [];
  const reinstated: NewEvent[] = [];
  const reverted: (readonly NewEvent[])[] = [];
  const added: (readonly NewEvent[])[] = [];
  const expired: NewEvent[] = [];
  for (const { uid, order, before, after } of affected) {
    // Retention has deleted the order. Events that are read again do not insert it, and neither does a late refund.
    if (order === undefined && findNewOrder(before) !== undefined) continue;
    const source = findNewOrder(after);
    const placedOnChain = order === undefined ? source !== undefined : order.placedOnChain;
    const known = order ?? (source && fromChain(source));
    if (known === undefined) continue; // the order does not exist yet; its chain events wait for it
    const waitsAnew = known.signingScheme === 'presign' && provesSignature(before) && !provesSignature(after);
    const now = waitsAnew
      ? { ...known, validTo: Math.min(known.validTo, Math.floor(at / 1000) + pendingValidity) }
      : known;

    const eventsBefore = order === undefined ? [] : toLogEntries(now, before, placedOnChain, at);
    const isRemoved = placedOnChain && source === undefined;
    const eventsAfter = isRemoved ? [] : toLogEntries(now, after, placedOnChain, at);
    const [removedEvents, addedEvents] = difference(eventsBefore, eventsAfter);
    reverted.push(removedEvents);
    added.push(addedEvents);

    const progress = computeProgress(now, after);
    const wasExpired = now.expiryRecorded && emitsExpiry(now, before);
    const isExpired = progress.expiryRecorded && emitsExpiry(now, after) && !isRemoved;
    if (wasExpired && !isExpired) reinstated.push({ type: 'reinstated', uid, owner: unpackUid(uid).owner, at });
    if (isExpired && !wasExpired) expired.push(createExpiryEvent(uid, progress.validTo));

    if (isRemoved) rows.push({ type: 'delete', uid });
    else if (order === undefined && source !== undefined) {
      rows.push({ type: 'insert', order: source, progress });
    } else if (removedEvents.length > 0 || addedEvents.length > 0 || changes(now, before, progress)) {
      rows.push({ type: 'update', uid, progress });
    }
  }
  const reversed = mergeByPosition(reverted).reverse();
  const events = [...reinstated, ...reversed.map((event) => revert(event, at)), ...mergeByPosition(added), ...expired];
  return { rows, events };
}

/** Returns whether chain events without a log entry change the row, such as an invalidation of a filled order. */
function changes(order: KnownOrder, before: readonly OrderChainEvent[], progress: OrderProgress): boolean {
  return JSON.stringify(computeProgress(order, before)) !== JSON.stringify(progress);
}

/** Computes the columns of an order from its chain events. See docs/internals/decisions.md#d2-22. */
export function computeProgress(order: KnownOrder, chainEvents: readonly OrderChainEvent[]): OrderProgress {
  let [sold, bought, signedFee, fee] = [0n, 0n, 0n, 0n];
  let feeToken: Address | null = null;
  let invalidated = order.cancelledOffChain;
  let signed = false;
  let placement: PlacementChainEvent | undefined;
  let refundTxHash: Hex | null = null;
  for (const event of chainEvents) {
    switch (event.type) {
      case 'trade':
        sold += BigInt(event.sellAmount);
        bought += BigInt(event.buyAmount);
        signedFee += BigInt(event.feeAmount);
        fee += BigInt(event.executedFee ?? 0) + BigInt(event.feeAmount);
        if (event.executedFee !== null) feeToken ??= event.sellToken;
        break;
      case 'invalidation':
        invalidated = true;
        break;
      case 'presignature':
        signed = event.signed;
        break;
      case 'placement':
        placement ??= event;
        break;
      case 'refund':
        refundTxHash ??= event.transactionHash;
        break;
    }
  }
  const presigns = order.signingScheme === 'presign';
  const isPending = presigns && !signed;
  const filled = isFilled(readTerms(order.body), sold - signedFee, bought);
  const isWaiting = presigns && !provesSignature(chainEvents);
  const validTo = placement?.userValidTo ?? (isWaiting ? order.validTo : unpackUid(order.uid).validTo);
  return {
    state: filled ? 'fulfilled' : invalidated ? 'cancelled' : isPending ? 'presignaturePending' : 'open',
    expiryRecorded: order.expiryRecorded && !filled && !invalidated && validTo <= order.validTo,
    invalidated,
    quotaClass: presigns ? (signed ? 'open' : 'pending') : order.quotaClass,
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

/**
 * Returns whether chain events show that the owner has signed an order. One that its owner has never signed may wait
 * for a shorter time than its validity.
 */
function provesSignature(chainEvents: readonly OrderChainEvent[]): boolean {
  return chainEvents.some((event) => event.type === 'trade' || (event.type === 'presignature' && event.signed));
}

/**
 * Returns the log entries of an order's chain events. A creation comes first, also if earlier trades did not contain
 * the order.
 */
function toLogEntries(
  order: KnownOrder,
  chainEvents: readonly OrderChainEvent[],
  placedOnChain: boolean,
  at: number,
): NewEvent[] {
  const { uid } = order;
  const { owner } = unpackUid(uid);
  const terms = readTerms(order.body);
  const events: NewEvent[] = [];
  const ordinals = new Map<Hex, number>();
  let [sold, bought] = [0n, 0n];
  let filled = false;
  let invalidated = order.cancelledOffChain;
  let signed = false;
  let created = !placedOnChain;
  let placed = false;
  let refunded = false;

  const add = (type: OrderEventType, event: OrderChainEvent, detail: Omit<ChainCause, 'position'> = {}) => {
    const { blockNumber, blockHash, logIndex, transactionHash, timestamp } = event;
    const position = { blockNumber, blockHash, logIndex, transactionHash };
    const cause = { position, ...detail };
    events.push({ type, uid, owner, at: timestamp === null ? at : timestamp * 1000, cause });
  };

  for (const event of chainEvents) {
    switch (event.type) {
      case 'trade': {
        const ordinal = (ordinals.get(event.transactionHash) ?? 0) + 1;
        ordinals.set(event.transactionHash, ordinal);
        sold += BigInt(event.sellAmount) - BigInt(event.feeAmount);
        bought += BigInt(event.buyAmount);
        const completes: boolean = !filled && isFilled(terms, sold, bought);
        filled ||= completes;
        const { sellAmount, buyAmount, feeAmount } = event;
        if (!created && event.order !== undefined) {
          add('created', event);
          created = true;
        }
        add('traded', event, { trade: { ordinal, completes, sellAmount, buyAmount, feeAmount } });
        break;
      }
      case 'invalidation':
        // An owner can invalidate a filled order on chain. It stays fulfilled.
        if (!invalidated && !filled) add('cancelled', event);
        invalidated = true;
        break;
      case 'presignature':
        if (order.signingScheme !== 'presign' || event.signed === signed) break;
        add(event.signed ? 'presigned' : 'presignatureRevoked', event);
        signed = event.signed;
        break;
      case 'placement':
        if (!placed) {
          const type = created ? 'placed' : 'created';
          add(type, event, event.sender === owner ? {} : { onchainUser: event.sender });
        }
        [placed, created] = [true, true];
        break;
      case 'refund':
        if (!refunded) add('refunded', event);
        refunded = true;
        break;
    }
  }
  const creation = events.find(({ type }) => type === 'created');
  return creation === undefined ? events : [creation, ...events.filter((event) => event !== creation)];
}

function revert({ type, uid, owner, cause }: NewEvent, at: number): NewEvent {
  if (cause === undefined || type === 'reverted' || type === 'expired' || type === 'reinstated')
    throw new Error('only chain events can be reverted');
  return { type: 'reverted', uid, owner, at, cause: { ...cause, reverted: type } };
}

/**
 * Returns the entries that are only in the first list and those that are only in the second. If the creation has
 * another cause, such as a placement that was read after a trade, all entries follow it.
 */
function difference(before: readonly NewEvent[], after: readonly NewEvent[]): [NewEvent[], NewEvent[]] {
  if (before.length === 0 || after.length === 0) return [[...before], [...after]];
  // An adopted event lacks the hash of its block. It is the same event once that is known.
  const key = ({ type, cause }: NewEvent) =>
    JSON.stringify([type, cause && { ...cause, position: { ...cause.position, blockHash: null } }]);
  const [keysBefore, keysAfter] = [new Set(before.map(key)), new Set(after.map(key))];
  const isCreation = ({ type }: NewEvent) => type === 'created';
  const isOther = before.some((event) => isCreation(event) && !keysAfter.has(key(event)));
  if (isOther) return [[...before], [...after]];
  return [before.filter((event) => !keysAfter.has(key(event))), after.filter((event) => !keysBefore.has(key(event)))];
}

/** Merges the entries of several orders by position. Those of one order stay in their order. */
function mergeByPosition(lists: readonly (readonly NewEvent[])[]): NewEvent[] {
  const entries = lists.flatMap((list) => {
    let first: NewEvent | undefined;
    // An entry is sorted by the first position from it on.
    const withFirst = [...list].reverse().map((event) => {
      if (first === undefined || compareByPosition(event, first) < 0) first = event;
      return { event, first };
    });
    return withFirst.reverse();
  });
  return entries.sort((a, b) => compareByPosition(a.first, b.first)).map(({ event }) => event);
}

function compareByPosition(a: NewEvent, b: NewEvent): number {
  return a.cause === undefined || b.cause === undefined ? 0 : compareLogPositions(a.cause.position, b.cause.position);
}

/** Returns the order that chain events contain: a placement, or a trade of a just-in-time order. */
function findNewOrder(events: readonly OrderChainEvent[]): NewOrder | undefined {
  for (const event of events) {
    const order = event.type === 'placement' || event.type === 'trade' ? event.order : undefined;
    if (order !== undefined) return order;
  }
  return undefined;
}

function fromChain({ uid, body, signingScheme, quotaClass, validTo }: NewOrder): KnownOrder {
  return {
    uid,
    body,
    signingScheme,
    quotaClass,
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

/**
 * Reads the terms that decide when an order is filled. An unreadable body never fills and must not stop the indexer.
 */
export function readTerms(body: string): Terms | undefined {
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

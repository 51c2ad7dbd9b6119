import type { Address, Hex } from '../protocol/hex.ts';
import type { NewDocument } from './app-data-store.ts';
import type { NewOrder, OrderState } from './order-record.ts';
import type { OrderQuote } from './quote-store.ts';

/** An order as a read returns it. Amounts are decimal strings of atoms; executed totals are not bounded by 2^256. */
export interface StoredOrder {
  readonly uid: Hex;
  readonly body: string;
  /**
   * 1 after the insert, or `getPlacementVersion` for a row that a placement on chain has created; incremented by every
   * change. Such a row may be deleted and created again, but a version of a UID never identifies two states with the
   * same `creationDate`. At most 2^53.
   */
  readonly version: number;
  readonly creationDate: number;
  readonly validTo: number;
  readonly state: OrderState;
  readonly invalidated: boolean;
  /** Total of sell tokens taken from the owner, including the signed fee. */
  readonly executedSellAmount: string;
  readonly executedBuyAmount: string;
  /** Executed part of the signed fee: "0" except for very old orders. */
  readonly executedFeeAmount: string;
  /** Network and protocol fees observed at settlement. */
  readonly executedFee: string;
  /** The token of `executedFee`, if a settlement has determined it. */
  readonly executedFeeToken: Address | null;
  /** The document with the hash `appData`, byte for byte, if it is known. */
  readonly fullAppData: string | null;
  /** The quote of the order. MUST be null in listings, except with `OrderQuery.quotes`. */
  readonly quote: OrderQuote | null;
  /** The members that a placement on chain adds to the order, rendered as a JSON object. */
  readonly placement: string | null;
}

/** An order with its body as bytes. */
export interface EncodedOrder {
  readonly order: StoredOrder;
  /**
   * The body in UTF-8; `undefined` if the row is damaged, or was read as text. It may share its memory with other
   * bodies.
   */
  readonly encodedBody: Uint8Array | undefined;
}

/** An order to store, and everything that is written in the same step. */
export interface OrderInsert {
  readonly order: NewOrder;
  readonly document?: NewDocument;
  /** Maximum number of the owner's live orders in this order's quota class, including this one. Default: unlimited. */
  readonly quota?: number;
  /** The UID of an order that this step cancels. The caller has compared the owners. */
  readonly replaces?: Hex;
}

/** The result of inserting one order. Only `inserted` has written anything. */
export type InsertOutcome =
  | { readonly status: 'inserted' }
  /** The UID is stored, or has a tombstone (`OrderStore.prune`). */
  | { readonly status: 'duplicate' }
  /** The quota is exhausted: the owner has `count` live orders of the quota class. */
  | { readonly status: 'quotaExceeded'; readonly quota: number; readonly count: number }
  /** The order to replace cannot be cancelled. */
  | { readonly status: 'notReplaceable'; readonly reason: CancelRejection }
  /** Another write of the owner's orders is in progress. Only with `skipLocked`. */
  | { readonly status: 'busy' }
  /** The order may be stored or not: the connection broke during the commit. A later read by UID returns the result. */
  | { readonly status: 'unknown' };

/** The reason why an order cannot be cancelled off chain, checked in this order. */
export type CancelRejection = 'missing' | 'fulfilled' | 'cancelled' | 'expired' | 'on-chain';

/** The orders to cancel, and the time. */
export interface CancelRequest {
  readonly uids: readonly Hex[];
  /** Current time in seconds since 1970, for expiry. */
  readonly now: number;
  /** Milliseconds since 1970, for the events. */
  readonly cancelledAt: number;
}

/** All of the orders were cancelled, or none. */
export type CancelOutcome =
  | { readonly status: 'cancelled' }
  /** The first missing order in the list; if none is missing, the first that cannot be cancelled. */
  | { readonly status: 'rejected'; readonly uid: Hex; readonly reason: CancelRejection };

/** A position in a listing: the last order that was returned. */
export interface OrderCursor {
  readonly creationDate: number;
  readonly uid: Hex;
}

/** Filters of a listing, combined by "and". */
export interface OrderQuery {
  readonly owner?: Address;
  readonly sellToken?: Address;
  readonly buyToken?: Address;
  /** A status in wire terms, evaluated at `now` (seconds since 1970). */
  readonly status?: { readonly is: OrderState | 'expired'; readonly now: number };
  /** Only orders after this position. */
  readonly after?: OrderCursor;
  /** Number of orders to skip. */
  readonly offset?: number;
  readonly limit: number;
  /** Whether orders are returned with their quotes. Default: false. */
  readonly quotes?: boolean;
}

/** The result of one step of a search. */
export interface OrderScan {
  readonly orders: StoredOrder[];
  /**
   * The bodies of `orders` in UTF-8, in the same order, for stores that read them as bytes, which are then not encoded
   * again. `undefined` for a body that is damaged.
   */
  readonly encodedBodies?: readonly (Uint8Array | undefined)[];
  /** The position where the next step begins. Absent if no entry is left. */
  readonly next?: OrderCursor;
}

/** Numbers of live orders of an owner: neither cancelled nor fulfilled nor expired. */
export interface OrderCounts {
  readonly open: number;
  readonly pending: number;
}

/** Options of an insert. */
export interface InsertOptions {
  /** A transaction of the host to join, of the type that the database driver of the store uses. The host commits it. */
  readonly transaction?: unknown;
  /**
   * Whether to return `busy` for orders of an owner with a running write, instead of waiting for it. A store whose
   * writes never wait MAY ignore it. Default: false.
   */
  readonly skipLocked?: boolean;
}

/** Orders, their totals and their owners' budgets. */
export interface OrderStore {
  /**
   * Inserts orders in one durable step, in input order. Each order is checked independently: a duplicate, an order over
   * its quota and a failed replacement do not affect the others. Implemented by `orders.ts` of `adapters/memory` and
   * `adapters/sqlite`, and by the SQL of `adapters/postgres/sql/insert-orders.ts`.
   *
   * For an inserted order, the store writes together:
   * - the row and its document;
   * - the owner's counters;
   * - the `created` event;
   * - for a replacement, the other order's cancellation with its event.
   *
   * `projectOrderState` applies chain events that are already stored: the row contains their result, and their log
   * entries follow `created`. Expiry is evaluated at the order's creation date. Concurrent inserts MUST NOT exceed a
   * quota. Of two orders that replace the same order exactly one MUST succeed.
   *
   * @returns One outcome per order, in input order.
   */
  insert(inserts: readonly OrderInsert[], options?: InsertOptions): Promise<InsertOutcome[]>;

  /** Reads orders by UID, each at most once, in any order. Unknown ones are absent. */
  get(uids: readonly Hex[]): Promise<StoredOrder[]>;

  /** Like `get`, for stores that read the bodies as bytes, which are then not encoded again. Other stores omit it. */
  getEncoded?(uids: readonly Hex[]): Promise<EncodedOrder[]>;

  /**
   * Lists orders newest first: by creation date, then by UID, both descending. MUST apply every filter before it limits
   * the page. The duration MUST NOT grow with the depth of a cursor. For a query with an owner and without a status, it
   * MUST NOT grow with the owner's history.
   */
  list(query: OrderQuery): Promise<StoredOrder[]>;

  /**
   * Like `list`, in one bounded step: examines at most `examine` index entries from `after` on, and returns the orders
   * that match. For stores that run in the thread of the book, which a long search would block. Other stores omit it.
   */
  scan?(query: Omit<OrderQuery, 'offset'>, examine: number): Promise<OrderScan>;

  /**
   * Returns those of `uids` that an account has placed on chain, in any order. The duration MUST NOT grow with the
   * number of orders that the account has placed.
   */
  filterPlaced(account: Address, uids: readonly Hex[]): Promise<Hex[]>;

  /** Cancels all of the orders or none, with an event for each. A repeated UID counts once. */
  cancel(request: CancelRequest): Promise<CancelOutcome>;

  /** Counts an owner's live orders. The duration MUST NOT grow with the owner's history. */
  count(owner: Address, now: number): Promise<OrderCounts>;

  /**
   * Returns the number of stored orders. With `endedBefore` (seconds since 1970), it counts only orders that `prune`
   * would delete. Used for progress output; it may scan the table. Optional.
   */
  total?(endedBefore?: number): Promise<number>;

  /**
   * Records the expiry of orders, soonest expired first, at most `limit`. It includes orders that are open or wait for
   * a presignature. Their effective `validTo` is before `now` (seconds since 1970), and their expiry is not recorded
   * yet.
   *
   * Each order is marked in one step with its `expired` event, dated to the first second in which it was expired. A
   * presign order that was never signed on chain gets no event. Reads and versions do not change, because the status
   * was already `expired`. From then on the order is expired for every listing and count, regardless of their `now`,
   * until `reinstate` reverts it. Its owner can cancel or replace it while its effective `validTo` has not passed.
   * Reads of live orders MUST NOT become slower because of it.
   *
   * `projectOrderState` evaluates later chain events of such an order, and logs `reinstated` if the order is not
   * expired after all. Concurrent calls MUST NOT write an event twice. A call MAY skip orders of an owner with a
   * running write; the next call includes them.
   *
   * @returns The number of orders recorded. If it equals `limit`, there may be more.
   */
  expire(now: number, limit: number): Promise<number>;

  /**
   * Reverts recorded expiries of open and pending orders whose effective `validTo` is not before `request.validFrom`,
   * at most `request.limit`. A clock that was ahead has recorded them. Each order is live again, and its counters
   * include it. If its expiry was logged, the same step logs `reinstated`. MAY skip orders of an owner with a running
   * write; the next call includes them. The duration MUST NOT grow with the number of recorded expiries.
   *
   * @returns The number of orders reinstated. If it equals `limit`, there may be more.
   */
  reinstate(request: ReinstateRequest): Promise<number>;

  /**
   * Adds a quote to an order that has none, without a log entry. Increments the version of the order.
   *
   * @returns Whether it was added: false if the order has a quote, or does not exist.
   */
  addQuote(uid: Hex, quote: OrderQuote): Promise<boolean>;

  /**
   * Deletes old orders with their quotes, oldest first, at most `request.limit`. An order is deleted if it was created
   * before `request.before` and its effective `validTo` is before it too. It must also be cancelled, fulfilled or
   * recorded as expired. Their documents, log entries and chain events are kept. MAY skip orders of an owner with a
   * running write; the next call includes them.
   *
   * An order that was cancelled off chain leaves a tombstone: its UID and its signed `validTo`. An insert of such a UID
   * is a `duplicate`. So a cancelled order cannot return, even if the clock was wrong when the order was deleted. The
   * same applies to an order that a rollback deletes, because a settlement had added it (`ChainStore.rollback`).
   *
   * @returns The number of orders deleted. If it equals `limit`, there may be more.
   */
  prune(request: PruneRequest): Promise<number>;
}

/** The recorded expiries to revert. */
export interface ReinstateRequest {
  /** Seconds since 1970. */
  readonly validFrom: number;
  /** Milliseconds since 1970, for the events. */
  readonly at: number;
  readonly limit: number;
}

/** The old orders to delete. */
export interface PruneRequest {
  /** Seconds since 1970. */
  readonly before: number;
  readonly limit: number;
  /**
   * Tombstones whose `validTo` is before this time are deleted, at most `limit`. In seconds since 1970. Default: no
   * tombstone is deleted.
   */
  readonly tombstonesBefore?: number;
}

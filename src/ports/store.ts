import type { Domain } from '../protocol/eip712.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { SigningScheme } from '../protocol/signature.ts';
import type { AuctionStore } from './auctions.ts';
import type { ChainCause, ChainStore } from './chain-store.ts';
import type { Clock } from './clock.ts';
import type { OrderQuote, QuoteStore } from './quotes.ts';

/**
 * Where a book keeps its orders. An implementation MUST pass the suite published as `intentbook/testing`; the memory
 * store is its oracle.
 *
 * Every verb that writes is one atomic step: all of it is there afterwards, or none of it. It is conditional, and says
 * what happened instead of throwing for a lost race. When its promise is fulfilled, a durable store MUST have the
 * outcome on stable storage. A rejected promise means a failure, after which nothing of the step is there.
 *
 * Times in milliseconds are named `…At` or `creationDate`, times in seconds `validTo` or `now`.
 */
export interface Store {
  readonly traits: StoreTraits;

  /**
   * Makes the store ready. Creates the schema or migrates an older one where this store does that itself. MUST reject
   * with a `StoreError`: a store of another domain (`DomainMismatch`, naming both), a newer schema (`SchemaTooNew`), a
   * second live writer where there can be one only (`WriterActive`, naming the first).
   */
  open(context: StoreContext): Promise<void>;

  /** Finishes what runs and lets go of everything. A second call does nothing. A closed store can be opened again. */
  close(): Promise<void>;

  /** One cheap round trip to the storage. Rejects when it cannot be written to. */
  check(): Promise<void>;

  readonly orders: OrderStore;
  readonly appData: AppDataStore;
  readonly quotes: QuoteStore;
  readonly events: EventStore;
  readonly leases: LeaseStore;
  readonly chain: ChainStore;
  readonly auctions: AuctionStore;
}

/** What stores differ in, declared so that nobody needs to guess. */
export interface StoreTraits {
  /** For people and logs: `memory`, `sqlite`, `postgres`. */
  readonly name: string;
  /** Whether what was acknowledged survives the process and the machine. */
  readonly durable: boolean;
  /** Whether several processes may write to one store at once. */
  readonly writers: 'single' | 'many';
  /** Whether `insert` can join a transaction of the host. */
  readonly hostTransaction: boolean;
}

/** The domain that a store belongs to, and the clock that it goes by. */
export interface StoreContext {
  /** The one domain whose orders this store holds; recorded when the store is created. */
  readonly domain: Domain;
  readonly clock: Clock;
}

/**
 * What is known of an order whatever the time is. Kept with each change; `expired` is not among them, since it needs a
 * clock (see `orderStatus`).
 */
export type OrderState = 'open' | 'presignaturePending' | 'cancelled' | 'fulfilled';

/**
 * Which cap an order counts against while it lives: `open`, or `pending` for one whose owner has not proven that it is
 * theirs (a presign order not yet signed on chain, a contract signature not checked).
 */
export type Budget = 'open' | 'pending';

/** An order to insert. What is stored of it never changes, besides what the chain and its owner do to it. */
export interface NewOrder {
  readonly uid: Hex;
  readonly owner: Address;
  /** Milliseconds since 1970. */
  readonly creationDate: number;
  readonly sellToken: Address;
  readonly buyToken: Address;
  readonly signingScheme: SigningScheme;
  /** Effective validity in seconds since 1970: what the signed field says, or what the user chose where that differs. */
  readonly validTo: number;
  readonly state: 'open' | 'presignaturePending';
  readonly budget: Budget;
  /** The hash of the app-data document. */
  readonly appData: Hex;
  /**
   * Every member of the wire's order that never changes, rendered once as a JSON object. The store keeps the text as it
   * is; it MUST NOT reformat it.
   */
  readonly body: string;
  /** The quote that the order was placed upon, when it was. Kept with the order, whatever becomes of the quote itself. */
  readonly quote?: OrderQuote;
}

/** An order as a read returns it. Amounts are decimal strings of atoms; executed totals are not bounded by 2^256. */
export interface StoredOrder {
  readonly uid: Hex;
  readonly body: string;
  /**
   * 1 when inserted, or `getPlacementVersion` for a row that the chain has made; one more with every change. A version of a
   * UID never names two states, though such a row may go and come again. Up to 2^53.
   */
  readonly version: number;
  readonly creationDate: number;
  readonly validTo: number;
  readonly state: OrderState;
  readonly invalidated: boolean;
  /** Sell token moved from the owner so far, the signed fee included. */
  readonly executedSellAmount: string;
  readonly executedBuyAmount: string;
  /** The signed fee executed so far: "0" but for orders of old. */
  readonly executedFeeAmount: string;
  /** Network and protocol fees observed at settlement. */
  readonly executedFee: string;
  /** In which token, when a settlement has told. */
  readonly executedFeeToken: Address | null;
  /** The document behind `appData`, exactly as it was hashed, when it is known. */
  readonly fullAppData: string | null;
  /** The quote it was placed upon. Listings leave it out: there it MUST be null. */
  readonly quote: OrderQuote | null;
  /** The members that a placement on chain adds to the order, rendered as a JSON object. */
  readonly placement: string | null;
}

/** A document to store with its order, unless it is there already. */
export interface NewDocument {
  readonly hash: Hex;
  readonly document: string;
}

/** An order to be stored, with what is written in the same step. */
export interface OrderInsert {
  readonly order: NewOrder;
  readonly document?: NewDocument;
  /** How many live orders the owner may have in this order's budget, this one included. Absent: any number. */
  readonly cap?: number;
  /** The UID of an order that is cancelled by this step. The caller has compared the owners. */
  readonly replaces?: Hex;
}

/** What became of one inserted order. Only `inserted` has written anything. */
export type InsertOutcome =
  | { readonly status: 'inserted' }
  | { readonly status: 'duplicate' }
  /** The budget is used up: `count` live orders are in it, `limit` are allowed. */
  | { readonly status: 'capped'; readonly limit: number; readonly count: number }
  /** The order to replace cannot be cancelled. */
  | { readonly status: 'irreplaceable'; readonly reason: CancelRejection };

/** Why an order cannot be cancelled off chain, judged in this order. */
export type CancelRejection = 'missing' | 'fulfilled' | 'cancelled' | 'expired' | 'on-chain';

/** Which orders are cancelled, and when. */
export interface CancelRequest {
  readonly uids: readonly Hex[];
  /** Seconds since 1970, by which expiry is judged. */
  readonly now: number;
  /** Milliseconds since 1970, for the events. */
  readonly cancelledAt: number;
}

/** All of the orders were cancelled, or none. */
export type CancelOutcome =
  | { readonly status: 'cancelled' }
  /** The first order in the list that is missing; if none is, the first whose state forbids it. */
  | { readonly status: 'rejected'; readonly uid: Hex; readonly reason: CancelRejection };

/** A place in a listing: the order that was served last. */
export interface OrderCursor {
  readonly creationDate: number;
  readonly uid: Hex;
}

/** Filters are combined by "and". */
export interface OrderQuery {
  readonly owner?: Address;
  readonly sellToken?: Address;
  readonly buyToken?: Address;
  /** A status as the wire knows it, judged at `now` (seconds since 1970). */
  readonly status?: { readonly is: OrderState | 'expired'; readonly now: number };
  /** Only what comes after this place. */
  readonly after?: OrderCursor;
  /** How many to skip. */
  readonly offset?: number;
  readonly limit: number;
}

/** How many live orders an owner has: neither cancelled nor filled nor expired. */
export interface OrderCounts {
  readonly open: number;
  readonly pending: number;
}

/** How orders are stored. */
export interface InsertOptions {
  /** A transaction of the host to join, in the store's own terms. The host commits it. */
  readonly transaction?: unknown;
}

/** Orders, their totals and their owners' budgets. */
export interface OrderStore {
  /**
   * Inserts orders in one durable step, each judged by itself, in the order of the list: one that is a duplicate, over
   * its cap or unable to replace leaves the others alone. For an inserted order the row, its document, the owner's
   * counters, the `created` event and, where it replaces, the other order's cancellation with its event are written
   * together. Facts that the chain has told before are folded in by `projectOrderState`: the row is what they make of it, and
   * their entries follow `created`. Expiry is judged at the order's creation date. Concurrent inserts MUST NOT exceed a cap, and two that replace one order leave exactly one winner.
   *
   * @returns an outcome for each, in the order of the list.
   */
  insert(inserts: readonly OrderInsert[], options?: InsertOptions): Promise<InsertOutcome[]>;

  /** Reads orders by UID, each at most once, in no particular order. Unknown ones are absent. */
  get(uids: readonly Hex[]): Promise<StoredOrder[]>;

  /**
   * Lists orders newest first: by creation date, then by UID, both descending. MUST judge every filter before it cuts
   * the page. The time it takes MUST NOT grow with how deep a cursor stands, nor with the history of an owner when the
   * query names one and no status.
   */
  list(query: OrderQuery): Promise<StoredOrder[]>;

  /** Cancels all of the orders or none, with an event for each. A UID listed twice counts once. */
  cancel(request: CancelRequest): Promise<CancelOutcome>;

  /** Counts an owner's live orders. The time it takes MUST NOT grow with the owner's history. */
  count(owner: Address, now: number): Promise<OrderCounts>;

  /**
   * Sweeps orders up whose time has passed: at most `limit` of those that are open or wait for their presignature, whose
   * effective `validTo` is before `now` (seconds since 1970) and that have not been swept yet, the soonest expired first.
   * Each is marked as swept in one step with its `expired` event, dated to the first second in which it was expired. A presign order that
   * was never signed on chain has none. Reads do not change, so neither do versions: what a swept order shows was true
   * before. But from then on it is expired whatever the `now` of a listing, a count or a cancellation says, and nothing
   * that is asked for live orders MUST take longer for it.
   *
   * What the chain tells of a swept order afterwards is judged by `projectOrderState`, which says in the log when it is not
   * expired after all (`revived`). Concurrent sweeps MUST NOT write an event twice. A sweep MAY leave out orders of an
   * owner who is being written to; the next one has them.
   *
   * @returns how many were swept. `limit` says that there may be more.
   */
  expire(now: number, limit: number): Promise<number>;

  /**
   * Removes orders that are over for long, with their quotes: at most `limit` of those that were created before `before`
   * (seconds since 1970), whose effective `validTo` is before it too, and that are cancelled, fulfilled or swept up as
   * expired; the first to have come first. Since their time has passed, none can be inserted again. Their documents,
   * their entries in the log and what the chain has said of them stay. MAY leave out orders of an owner who is being
   * written to; the next call has them.
   *
   * @returns how many were removed. `limit` says that there may be more.
   */
  prune(before: number, limit: number): Promise<number>;
}

/** Documents by their hash: the first that is written stays. */
export interface AppDataStore {
  /**
   * Stores a document under its hash. The first write wins; `hash` has been verified by the caller.
   *
   * @param keep how many documents may be there to which no order refers, this one included: the oldest of them make
   * room in the same step. A document is not among them once an order has brought it along, or has been inserted with
   * its hash while it was there. Writers at the same moment MAY exceed the number until the next one. Absent: any
   * number.
   */
  put(document: NewDocument, keep?: number): Promise<'stored' | 'known'>;

  get(hash: Hex): Promise<string | undefined>;
}

/** What happened to an order. */
export const ORDER_EVENTS = [
  'created',
  'cancelled',
  /** It was placed on chain too, after it had been sent in. */
  'placed',
  'presigned',
  'presignatureRevoked',
  'traded',
  'refunded',
  /** Its time has passed while it was open, as far as the chain had been read. */
  'expired',
  /** It has not expired after all: the chain has told of it what is older, or has taken back what made it expire. */
  'reinstated',
  /** A block was taken back, and with it what `cause.reverted` names. */
  'reverted',
] as const;
/** What an entry of the log says. */
export type OrderEventType = (typeof ORDER_EVENTS)[number];

/** An entry for the log, before it has its place there. */
export interface NewEvent {
  readonly type: OrderEventType;
  readonly uid: Hex;
  readonly owner: Address;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The fact behind it, when it is the chain that says so. */
  readonly cause?: ChainCause;
}

/** One entry of the book's log, written together with its cause. */
export interface StoredEvent extends NewEvent {
  /** Counts up. */
  readonly id: number;
}

/** The log: what has happened, in the order of commits. */
export interface EventStore {
  /** The id of the newest event, 0 when there is none. */
  last(): Promise<number>;

  /**
   * Reads events in the order of their ids, those above `id` only, at most `limit`. Ids follow the order of commits: a
   * store MUST NOT show an event while one with a smaller id may still appear.
   */
  after(id: number, limit: number): Promise<StoredEvent[]>;

  /**
   * Tells when there may be new events that this process did not write. A hint: it MAY come late, twice or without
   * cause. A store with a single writer never has any.
   */
  watch(hint: () => void): () => void;
}

/** A lease to take. */
export interface LeaseRequest {
  /** What it is on: a duty that one process at a time does, such as a sweep. */
  readonly name: string;
  /** Who takes it: text that no other process uses. */
  readonly holder: string;
  /** How long it is held without being taken again, in milliseconds. */
  readonly ttl: number;
}

/** Whether the lease is held by who has asked, until `expiresAt` (milliseconds since 1970). */
export type LeaseOutcome =
  /**
   * `term` counts the holders: it is the same for as long as nobody else has held the lease, so one that has gone up
   * says that there was somebody in between.
   */
  | { readonly status: 'held'; readonly term: number /** Milliseconds since 1970. */; readonly expiresAt: number }
  | { readonly status: 'taken'; readonly holder: string; readonly expiresAt: number };

/**
 * Leases by name, so that of the processes on one store one does a duty. Time is that of the clock the store was opened
 * with; the clocks of processes on one store should agree to well within a lease's `ttl`.
 */
export interface LeaseStore {
  /**
   * Takes a lease that is free, released or past its time, or renews one that `holder` has. MUST grant it to one of
   * several that ask at once.
   */
  acquire(request: LeaseRequest): Promise<LeaseOutcome>;

  /** Frees a lease, if `holder` has it. */
  release(lease: { readonly name: string; readonly holder: string }): Promise<void>;
}

/** Why a store rejects or fails, as far as a host can act on it. */
export type StoreErrorCode =
  | 'Closed'
  | 'DomainMismatch'
  | 'WriterActive'
  | 'WriterLost'
  | 'SchemaTooNew'
  | 'SchemaTooOld'
  | 'Unavailable'
  | 'Unsupported';

/** A failure of a store, thrown. The message carries neither SQL nor secrets; `cause` has the driver's own error. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Rejects to open a store of one domain for another, by one wording for every store. */
export function assertSameDomain(recorded: Domain, wanted: Domain): void {
  if (recorded.chainId === wanted.chainId && recorded.settlementContract === wanted.settlementContract) return;
  throw new StoreError(
    'DomainMismatch',
    `this store belongs to chain ${recorded.chainId}, settlement contract ${recorded.settlementContract}; ` +
      `it cannot hold orders of chain ${wanted.chainId}, settlement contract ${wanted.settlementContract}`,
  );
}

import type { Domain } from '../protocol/eip712.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { AppDataStore } from './app-data-store.ts';
import type { AuctionStore } from './auction-store.ts';
import type { ChainStore } from './chain-store.ts';
import type { Clock } from './clock.ts';
import type { ChainCause, OrderEventType } from './order-events.ts';
import type { OrderStore } from './order-store.ts';
import type { QuoteStore } from './quote-store.ts';
import type { RetentionStore } from './retention.ts';
import type { TaskStore } from './task-store.ts';

export type { AppDataStore, NewDocument } from './app-data-store.ts';
export type {
  CancelOutcome,
  CancelRejection,
  CancelRequest,
  EncodedOrder,
  InsertOptions,
  InsertOutcome,
  OrderCounts,
  OrderCursor,
  OrderInsert,
  OrderQuery,
  OrderScan,
  OrderStore,
  PruneRequest,
  ReinstateRequest,
  StoredOrder,
} from './order-store.ts';

/**
 * Persistence of a book. An implementation MUST pass the suite published as `intentbook/testing`; the memory store is
 * its oracle.
 *
 * Every method that writes is one atomic, conditional step: either all of it is stored or nothing. It returns the
 * outcome instead of throwing for a lost race. When its promise is fulfilled, a durable store MUST have the outcome on
 * stable storage. A rejected promise is a failure after which nothing of the step is stored, except for a `StoreError`
 * `OutcomeUnknown`: the step may be stored. An insert returns `unknown` instead.
 *
 * Milliseconds since 1970: `at`, `…At`, `creationDate` and `Clock.now()`. Seconds since 1970: `now`, `validTo`,
 * `validFrom`, `before`, `…Before` and `endedBefore`.
 */
export interface Store {
  readonly traits: StoreTraits;

  /**
   * Opens the store. Creates the schema, or migrates an older one if the store supports this.
   *
   * MUST reject with a `StoreError`:
   * - `DomainMismatch` for a store of another domain, with both domains in the message;
   * - `SchemaTooNew` for a newer schema;
   * - `WriterActive` for a second live writer of a single-writer store, with the first writer in the message.
   */
  open(context: StoreContext): Promise<void>;

  /**
   * Completes running operations and releases all resources. A second call does nothing. A closed store can be
   * reopened.
   */
  close(): Promise<void>;

  /** Makes one cheap round trip to the storage. Rejects if the storage is not writable. */
  check(): Promise<void>;

  readonly orders: OrderStore;
  readonly appData: AppDataStore;
  readonly quotes: QuoteStore;
  readonly events: EventStore;
  readonly leases: LeaseStore;
  readonly chain: ChainStore;
  readonly auctions: AuctionStore;
  readonly tasks: TaskStore;
  readonly retention: RetentionStore;
}

/** Properties in which stores differ. */
export interface StoreTraits {
  /** Name for people and logs: `memory`, `sqlite`, `postgres`. */
  readonly name: string;
  /** Whether acknowledged writes survive a crash of the process and of the machine. */
  readonly durable: boolean;
  /** Whether several processes may write to one store concurrently. */
  readonly writers: 'single' | 'many';
  /**
   * Whether reads verify the body of each order, for example by a checksum. A damaged body is then returned as empty
   * text. Default: false, the book checks the structure of each body that it reads.
   */
  readonly verifiesBodies?: boolean;
  /** Whether `insert` can join a transaction of the host. */
  readonly hostTransaction: boolean;
}

/** The domain of a store, and the clock that it uses. */
export interface StoreContext {
  /** The domain of all orders in this store; recorded when the store is created. */
  readonly domain: Domain;
  readonly clock: Clock;
  /** Receives each finished operation, for `storeQueried`. Stores of `createStore` in the store kit notify it. */
  readonly observer?: {
    /** Whether a notification has a receiver. If not, nothing needs to be measured. */
    hasListeners(): boolean;
    notify(observation: StoreObservation): void;
  };
}

/** A finished store operation. */
export interface StoreObservation {
  /** The operation, as the port names it: `orders.insert`. */
  readonly operation: string;
  /** Duration in milliseconds. */
  readonly ms: number;
  /** Whether it threw. */
  readonly failed: boolean;
}

/** A log entry without an id. */
export interface NewEvent {
  readonly type: OrderEventType;
  readonly uid: Hex;
  readonly owner: Address;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The chain event that caused the entry, if any. */
  readonly cause?: ChainCause;
}

/** One entry of the book's log, written together with its cause. */
export interface StoredEvent extends NewEvent {
  /** Increasing, without holes within a log epoch. */
  readonly id: number;
}

/** The constants of {@link getLogEpochStart}. */
export const LOG_EPOCHS = {
  /** 2020-01-01, in milliseconds since 1970. */
  origin: 1_577_836_800_000,
  idsPerMillisecond: 100,
  /** Maximum of the ids that are derived from the time. It is reached in 2198. */
  maximum: 2 ** 49,
  /** Distance of two log epochs if the clock is behind the log. */
  distance: 2 ** 32,
} as const;

/**
 * Returns the id after which a new log epoch begins. A store begins one, with its next entry, if it may have lost
 * entries that have been read: after a failover to an asynchronous standby, or from a backup.
 *
 * The id is derived from the time, so that no two restores of one backup assign the same ids. The ids before it remain
 * unused: a reader that has seen lost entries finds a hole after its position.
 *
 * @param last - The newest id of the log, 0 if there is none.
 * @param now - Milliseconds since 1970.
 */
export function getLogEpochStart(last: number, now: number): number {
  const { origin, idsPerMillisecond, maximum, distance } = LOG_EPOCHS;
  const start = Math.min(Math.floor(now - origin) * idsPerMillisecond, maximum);
  return start > last ? start : last + distance;
}

/** The event log, in the order of commits. */
export interface EventStore {
  /** Returns the id of the newest event, 0 if there is none. */
  last(): Promise<number>;

  /**
   * Reads events in the order of their ids, only those above `id`, at most `limit`. Ids follow the order of commits: a
   * store MUST NOT return an event while one with a smaller id may still appear.
   */
  after(id: number, limit: number): Promise<StoredEvent[]>;

  /**
   * Returns whether `id` is that of the newest event, 0 if there is none. MUST return false if only a read of the
   * storage could show it, and throw a `StoreError` `Closed` unless the store is open. If it returns true, a cache that
   * contains the changes up to `id` needs no read.
   */
  isNewest?(id: number): boolean;

  /**
   * Calls `hint` when other processes may have written new events. The call MAY be late, repeated or without cause. A
   * store with a single writer never calls it.
   */
  watch(hint: () => void): () => void;
}

/** A lease to acquire. */
export interface LeaseRequest {
  /** Name of the task that only one process performs, such as the expiry sweep. */
  readonly name: string;
  /** Identifies the holder: text that no other process uses. */
  readonly holder: string;
  /** Time until the lease expires without renewal, in milliseconds. */
  readonly ttl: number;
}

/** Whether the caller holds the lease. `expiresAt` is in milliseconds since 1970. */
export type LeaseOutcome =
  /**
   * `term` counts changes of the holder. If it has not increased since the last call, no other process has held the
   * lease in the meantime.
   */
  | { readonly status: 'held'; readonly term: number; readonly expiresAt: number }
  | { readonly status: 'taken'; readonly holder: string; readonly expiresAt: number };

/**
 * Leases by name, so that only one of the processes on a store performs a task. Uses the clock with which the store was
 * opened; the difference between the clocks of the processes should be much smaller than `ttl`.
 */
export interface LeaseStore {
  /**
   * Acquires a lease that is free, released or expired, or renews one that `holder` has. MUST grant it to only one of
   * several concurrent callers.
   */
  acquire(request: LeaseRequest): Promise<LeaseOutcome>;

  /** Releases a lease if `holder` has it. */
  release(lease: { readonly name: string; readonly holder: string }): Promise<void>;
}

/** The code of a store failure, for decisions of the host. */
export type StoreErrorCode =
  /** A method was called before `start()`. */
  | 'NotStarted'
  /** The store is not open, or the book or the account interface was closed. */
  | 'Closed'
  /** The store belongs to another chain or settlement contract. */
  | 'DomainMismatch'
  /** Another book or process has opened a store with a single writer. */
  | 'WriterActive'
  /** Another process has taken over the lease, the file was replaced or deleted, or the write thread has ended. */
  | 'WriterLost'
  /** A newer release has changed the schema. */
  | 'SchemaTooNew'
  /** The schema needs a migration. */
  | 'SchemaTooOld'
  /** A value does not fit the schema of the storage. */
  | 'InvalidValue'
  /** The commit was not confirmed: the change may be stored. */
  | 'OutcomeUnknown'
  /** The storage cannot be reached, read or written. */
  | 'Unavailable'
  /** The storage lacks a required guarantee or feature, or the store cannot join the given transaction. */
  | 'Unsupported';

/** A failure of a store. The message contains neither SQL nor secrets; `cause` is the error of the database driver. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code: StoreErrorCode;

  /** Recognises also errors of another copy of this package, which the module of a store may have installed. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Error && value.name === 'StoreError';
  }

  constructor(code: StoreErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** Returns the message of an error about a book, an account interface or a store that does not run. */
export function describeClosed(error: unknown): string | undefined {
  const isClosed = error instanceof StoreError && (error.code === 'Closed' || error.code === 'NotStarted');
  return isClosed ? error.message : undefined;
}

/** Throws a `DomainMismatch` if a store of one domain is opened for another. All stores use the same message. */
export function assertSameDomain(recorded: Domain, wanted: Domain): void {
  if (recorded.chainId === wanted.chainId && recorded.settlementContract === wanted.settlementContract) return;
  throw new StoreError(
    'DomainMismatch',
    `this store belongs to chain ${recorded.chainId}, settlement contract ${recorded.settlementContract}; ` +
      `it cannot hold orders of chain ${wanted.chainId}, settlement contract ${wanted.settlementContract}`,
  );
}

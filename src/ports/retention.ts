import type { LogPosition } from './order-events.ts';

/** The old log entries to delete. */
export interface LogPruneRequest {
  /** Only entries older than this time. In milliseconds since 1970. */
  readonly before: number;
  /** Only entries up to this position. */
  readonly through: number;
  readonly limit: number;
}

/** The old chain events to delete. */
export interface ChainEventPruneRequest {
  /**
   * Only events of blocks before this time, and of orders whose signed `validTo`, or that of their placement, is before
   * it. In seconds since 1970.
   */
  readonly before: number;
  /** Only events after this position. Default: from the first on. */
  readonly after?: Pick<LogPosition, 'blockNumber' | 'logIndex'>;
  /** Maximum number of events to examine. */
  readonly limit: number;
}

/** The result of one step. */
export interface ChainEventPruneOutcome {
  readonly removed: number;
  /** The position where the next step begins. Absent: no event is left to examine. */
  readonly next?: Pick<LogPosition, 'blockNumber' | 'logIndex'>;
}

/** Documents that orders do not need any more. */
export interface DocumentPruneRequest {
  /** Only documents of orders that ended and were created before this time. In seconds since 1970. */
  readonly before: number;
  readonly limit: number;
}

/** Deletion of old data besides orders. Each call is one atomic, bounded step. */
export interface RetentionStore {
  /** Returns the id up to which log entries have been deleted; 0 if none has been. It never decreases. */
  prunedThrough(): Promise<number>;

  /**
   * Deletes log entries from the start of the log, up to the first that must be kept. So the remaining entries have no
   * holes. The newest entry is always kept, and `last` is unchanged.
   *
   * @returns The number of entries deleted. If it equals `limit`, there may be more.
   */
  pruneEvents(request: LogPruneRequest): Promise<number>;

  /**
   * Examines chain events in chain order and deletes those of orders that are no longer stored. MUST keep:
   * - events of blocks whose hash is stored, and of later blocks, because they may be rolled back;
   * - events of orders that are stored;
   * - events of orders whose signed `validTo` is not before `before`, unless the `userValidTo` of a stored placement is
   *   (the contract that has placed such an order does not sign it any more);
   * - such a placement, while another event of its order is stored;
   * - settlements of a transaction with a trade that is kept.
   *
   * The first trades of tokens are kept.
   */
  pruneChainEvents(request: ChainEventPruneRequest): Promise<ChainEventPruneOutcome>;

  /**
   * Deletes documents of orders that all ended and were created before `before`. The caller has deleted these orders.
   * Documents that no order has referred to are kept; `AppDataStore.put` limits their number. An order that is inserted
   * with a document later stores it again.
   *
   * @returns The number of documents deleted. If it equals `limit`, there may be more.
   */
  pruneDocuments(request: DocumentPruneRequest): Promise<number>;
}

/** Deletion of old data of the account interface. Each call is one atomic, bounded step. */
export interface AccountRetentionStore {
  /** Returns the id up to which account log entries have been deleted; 0 if none has been. It never decreases. */
  prunedThrough(): Promise<number>;

  /**
   * Deletes entries from the start of the account log, up to the first whose notification is not old enough. The newest
   * entry is always kept. A notification is deleted with its last entry, and its deliveries with it, whatever their
   * state.
   *
   * @returns The number of entries deleted. If it equals `limit`, there may be more.
   */
  pruneNotifications(request: LogPruneRequest): Promise<number>;

  /**
   * Deletes used nonces whose signatures expired before `now` (milliseconds since 1970), at most `limit`.
   *
   * @returns The number of nonces deleted. If it equals `limit`, there may be more.
   */
  pruneNonces(now: number, limit: number): Promise<number>;
}

import type { Address } from '../protocol/hex.ts';

/** The types of notifications. docs/guides/notifications.md describes when each is created. */
export const NOTIFICATION_TYPES = [
  'order_filled',
  'order_expired',
  'order_cancelled',
  'order_partially_filled',
  'insufficient_balance',
  'price_improvement',
  'order_reverted',
] as const;
/** The type of a notification. */
export type NotificationType = (typeof NOTIFICATION_TYPES)[number];

/** A notification to store. It can be withdrawn, and made visible again with another time and text. */
export interface NewNotification {
  /** Derived from the cause, so that a repeated cause yields one notification. At most 100 ASCII characters. */
  readonly id: string;
  readonly account: Address;
  readonly type: NotificationType;
  /** Time of the cause, in milliseconds since 1970. */
  readonly at: number;
  /** The notification in wire format, rendered once as a JSON object. The store keeps the text unchanged. */
  readonly body: string;
}

/** A change to the list of notifications. */
export type NotificationChange =
  /** Makes a notification visible. A visible notification is unchanged. A withdrawn one gets the new time and text. */
  | { readonly type: 'notify'; readonly notification: NewNotification }
  /** Hides a notification. Does nothing if it does not exist or is hidden. */
  | { readonly type: 'withdraw'; readonly id: string };

/** A value that is stored with a feed under a key. A `null` value deletes it. */
export interface ProgressMarker {
  readonly key: string;
  readonly value: string | null;
}

/** The changes that result from a range of feed entries. */
export interface NotificationBatch {
  /** Name of the feed: the log of a book, or a periodic check. */
  readonly feed: string;
  /** The cursor from which the changes were derived; null if the feed has none yet. */
  readonly after: number | null;
  /** The new cursor: above `after`, or 0 if the feed begins anew. */
  readonly through: number;
  /** Applied in this order. */
  readonly changes: readonly NotificationChange[];
  readonly marks?: readonly ProgressMarker[];
}

/** The result of `append`. */
export type AppendOutcome =
  /** `changed`: number of changes that had an effect. */
  | { readonly status: 'appended'; readonly changed: number }
  /** Another writer has moved the cursor; nothing was written. */
  | { readonly status: 'moved'; readonly cursor: number | null };

/** A notification as a list returns it. */
export interface StoredNotification {
  readonly id: string;
  /** Log position of its first appearance; orders notifications with equal `at`. */
  readonly seq: number;
  readonly at: number;
  readonly body: string;
}

/** A position in a list of notifications: the last one that was returned. */
export interface NotificationCursor {
  readonly at: number;
  readonly seq: number;
}

/** One entry of the account log, written together with its change. */
export interface AccountLogEntry {
  /** Increasing, over all accounts and feeds. */
  readonly id: number;
  readonly account: Address;
  readonly type: 'notification' | 'withdrawn';
  /** The id of the notification. */
  readonly notification: string;
  /** The notification in wire format, with its newest text, even if it has changed visibility since. */
  readonly body: string;
}

/** Notifications of accounts, and the log from which streams read. */
export interface NotificationStore {
  /** Returns the cursor of a feed; null if nothing has been processed. */
  cursor(feed: string): Promise<number | null>;

  /**
   * Writes the result of a range of feed entries in one step:
   * - the changes, and an account log entry for each effective change;
   * - the deliveries;
   * - the progress markers and the feed's cursor.
   *
   * Writes only if the cursor still equals `after`. So each cause yields exactly one notification, across crashes and
   * concurrent processes.
   *
   * A `notify` change creates a `pending` delivery for each active subscription of the account that includes the type,
   * unless one exists for this notification, or its `at` is more than an hour (`DELIVERY_WINDOW`) before the creation
   * of the subscription. A subscription from the future was made by a clock that was ahead, and counts as made now. A
   * delivery is due at the time of the notification, or now if that time is in the future, because the time of a block
   * can be ahead of the clock. A `dropped` delivery becomes pending again, at its old position.
   *
   * A notification that was withdrawn and is shown again gets the new `at` and `body`, since its transaction was mined
   * again, maybe with other amounts. For the age above, its previous `at` counts.
   *
   * A `withdraw` change drops the pending deliveries. Delivered and dead ones stay unchanged.
   */
  append(batch: NotificationBatch): Promise<AppendOutcome>;

  /**
   * Lists the visible notifications of an account, newest first: by `at`, then by `seq`, both descending. The duration
   * MUST NOT grow with the depth of the cursor.
   */
  list(query: {
    readonly account: Address;
    readonly after?: NotificationCursor;
    readonly limit: number;
  }): Promise<StoredNotification[]>;

  /** Reads progress markers of a feed. Missing ones are absent from the result. */
  marks(feed: string, keys: readonly string[]): Promise<ProgressMarker[]>;

  /** Returns the id of the newest entry of the account log, 0 if there is none. */
  last(): Promise<number>;

  /**
   * Reads the account log in the order of its ids: entries above `id`, optionally of one account, at most `limit`. The
   * duration MUST NOT grow with the number of entries of other accounts.
   */
  after(id: number, limit: number, account?: Address): Promise<AccountLogEntry[]>;

  /** Calls `hint` when other processes may have written new entries. A hint, as for `EventStore.watch`. */
  watch(hint: () => void): () => void;
}

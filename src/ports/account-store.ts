import type { Address, Hex } from '../protocol/hex.ts';
import type { Clock } from './clock.ts';
import type { LeaseStore } from './store.ts';

/**
 * Persistence of the account interface, for all books together: notifications, affiliate codes, subscriptions and
 * deliveries. An implementation MUST pass `accountStoreConformance` of `intentbook/testing`; the memory account store
 * is its oracle.
 *
 * Every method that writes is one atomic, conditional step, as in `Store`: either all of it is stored or nothing. It
 * returns the outcome instead of throwing for a lost race. When its promise is fulfilled, a durable store MUST have the
 * outcome on stable storage. A rejected promise is a failure after which nothing of the step is stored.
 *
 * A store with several writing processes has three further obligations:
 * - `append` MUST compare the cursor under a lock, so that of two concurrent calls with the same cursor exactly one
 * succeeds.
 * - Ids of the log MUST follow the order of commits: no reader sees an id while a smaller one may still appear, for all
 * feeds.
 * - `claim` MUST give a delivery to only one of several concurrent callers.
 */
export interface AccountStore {
  readonly traits: AccountStoreTraits;

  /**
   * Opens the store. Creates the schema, or migrates an older one if the store supports this. MUST reject with a
   * `StoreError` for a newer schema (`SchemaTooNew`) and for a second live writer of a single-writer store
   * (`WriterActive`).
   */
  open(context: { readonly clock: Clock }): Promise<void>;

  /**
   * Completes running operations and releases all resources. A second call does nothing. A closed store can be
   * reopened.
   */
  close(): Promise<void>;

  /** Makes one cheap round trip to the storage. Rejects if the storage is not writable. */
  check(): Promise<void>;

  readonly notifications: NotificationStore;
  readonly affiliates: AffiliateStore;
  readonly subscriptions: SubscriptionStore;
  readonly deliveries: DeliveryStore;
  readonly leases: LeaseStore;
}

/** Properties in which account stores differ. */
export interface AccountStoreTraits {
  /** Name for people and logs: `memory`, `sqlite`, `postgres`. */
  readonly name: string;
  /** Whether acknowledged writes survive a crash of the process and of the machine. */
  readonly durable: boolean;
  /** Whether several processes may write to one store concurrently. */
  readonly writers: 'single' | 'many';
}

/** The types of notifications. */
export const NOTIFICATION_TYPES = [
  'order_filled',
  'order_expired',
  'order_cancelled',
  'order_partially_filled',
  'insufficient_balance',
  'price_improvement',
] as const;
/** The type of a notification. */
export type NotificationType = (typeof NOTIFICATION_TYPES)[number];

/** A notification to store. It is immutable; it can be withdrawn and made visible again. */
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
  /**
   * Makes a notification visible. A visible notification is unchanged. A withdrawn one becomes visible again, at its
   * old position in the list, with the body that was stored first.
   */
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
  /** The new cursor, above `after`. */
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
  /** The notification in wire format, even if it has changed visibility since. */
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
   * unless one exists for this notification. A `dropped` delivery becomes pending again, at its old position. A
   * `withdraw` change drops the pending deliveries. Delivered and dead ones stay unchanged.
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

/** A code to bind to a wallet. The caller has verified the signature. */
export interface NewAffiliate {
  readonly walletAddress: Address;
  /** In normal form: trimmed, upper case. */
  readonly code: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** The signed digest, 32 bytes. */
  readonly digest: Hex;
  /** The signature in normal form: low s, v of 27 or 28. A contract signature is stored unchanged. */
  readonly signedMessage: Hex;
}

/** A code and the wallet that has signed it. `createdAt` is in milliseconds since 1970. */
export interface Affiliate {
  readonly walletAddress: Address;
  readonly code: string;
  readonly createdAt: number;
}

/** The result of a registration: the first status that applies. See docs/internals/decisions.md#d5-3. */
export type RegisterOutcome =
  | { readonly status: 'registered' }
  /** The wallet already has a code. */
  | { readonly status: 'bound' }
  /** The digest or the signature was used before, whether or not that registration succeeded. */
  | { readonly status: 'used' }
  /** The code belongs to another wallet. */
  | { readonly status: 'taken' };

/** Codes, the wallets that they are bound to, and the signatures that were used to bind them. */
export interface AffiliateStore {
  /**
   * Binds a code to a wallet and records digest and signature as used, in one step. Of several concurrent calls for one
   * code, wallet or signature, exactly one is `registered`.
   */
  register(affiliate: NewAffiliate): Promise<RegisterOutcome>;
  byWallet(walletAddress: Address): Promise<Affiliate | undefined>;
  /** @param code - In normal form. */
  byCode(code: string): Promise<Affiliate | undefined>;
}

/** A target to which notifications of an account are sent. */
export interface Subscription {
  /** Unguessable text that the caller creates. */
  readonly id: string;
  readonly account: Address;
  /** Name of the channel: `webhook`, `email`, `telegram`, `webpush`. */
  readonly channel: string;
  /** The target of the channel: a URL, an address, a chat id. */
  readonly target: string;
  readonly types: readonly NotificationType[];
  readonly state: 'pending' | 'active';
  /** The key with which deliveries are signed, if the channel signs. */
  readonly secret: string | null;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

/** The nonce of a signature that authorises one change. See docs/internals/decisions.md#d5-8. */
export interface UsedNonce {
  readonly account: Address;
  /** Decimal. */
  readonly nonce: string;
  /** Time after which the record may be deleted, in milliseconds since 1970: the signature's deadline. */
  readonly expiresAt: number;
}

/** A subscription to store. */
export interface NewSubscription {
  readonly subscription: Subscription;
  /** Confirmation of a pending subscription: hash of the token that was sent, and its expiry time. */
  readonly confirmation?: { readonly tokenHash: Hex; readonly expiresAt: number };
  readonly nonce: UsedNonce;
  /** Maximum number of subscriptions of the account, including this one and pending ones. */
  readonly cap: number;
  /** Limits of invitations, for a channel that sends one to the target. Default: the invitation is not counted. */
  readonly invitation?: InvitationLimits;
  /** Current time in milliseconds since 1970, for the expiry of pending subscriptions and nonces. */
  readonly now: number;
}

/** Limits of the invitations that a channel sends to its targets. */
export interface InvitationLimits {
  /** Invitations sent at or after this time count. In milliseconds since 1970. */
  readonly since: number;
  /** Maximum number of invitations to the same target. Only one may wait for its confirmation. */
  readonly perTarget: number;
  /** Maximum number of invitations of the channel. */
  readonly perChannel: number;
}

/** The result of creating a subscription. */
export type SubscribeOutcome =
  | { readonly status: 'created' }
  /** The nonce was used before. */
  | { readonly status: 'used' }
  | { readonly status: 'capped'; readonly limit: number }
  /** An invitation to the target waits for its confirmation, or a limit of invitations is reached. */
  | { readonly status: 'limited'; readonly by: 'pending' | 'target' | 'channel' };

/** Subscriptions of accounts to channels. */
export interface SubscriptionStore {
  /**
   * Stores a subscription and marks its nonce as used, in one step. Pending subscriptions with an expired confirmation
   * and expired nonces are deleted before anything is counted. An invitation stays counted when its subscription is
   * removed.
   */
  create(request: NewSubscription): Promise<SubscribeOutcome>;

  /**
   * Activates a pending subscription and deletes its token.
   *
   * @param target - The new target, for channels where only the confirmation reveals it.
   * @returns The subscription, or `undefined` if the token is unknown, used or expired at `now`.
   */
  confirm(request: {
    readonly tokenHash: Hex;
    readonly now: number;
    readonly target?: string;
  }): Promise<Subscription | undefined>;

  /** Lists the subscriptions of an account, oldest first. */
  list(account: Address): Promise<Subscription[]>;

  /**
   * Removes a subscription with its deliveries and marks the nonce, if given, as used, in one step. Returns `missing`
   * for a subscription of another account; the nonce is used in that case too.
   */
  remove(request: {
    readonly id: string;
    readonly account: Address;
    readonly nonce?: UsedNonce;
    readonly now: number;
  }): Promise<'removed' | 'missing' | 'used'>;
}

/** The state of a delivery. */
export type DeliveryState = 'pending' | 'delivered' | 'dead' | 'dropped';

/** The delivery of one notification to one subscription. */
export interface Delivery {
  /** Sequence number: deliveries of a subscription are made in this order. */
  readonly seq: number;
  readonly subscription: string;
  readonly notification: string;
  readonly account: Address;
  readonly channel: string;
  readonly state: DeliveryState;
  /** Number of attempts made. */
  readonly attempts: number;
  /** The last error, for operators. */
  readonly error: string | null;
}

/** A delivery to attempt now. */
export interface ClaimedDelivery {
  readonly seq: number;
  readonly subscription: Subscription;
  readonly notification: string;
  readonly body: string;
  /** Number of this attempt, from 1. */
  readonly attempt: number;
  /** Number of claims of this delivery. It is never reset and authorises `settle`. */
  readonly claim: number;
}

/** Numbers of deliveries that still need work. */
export interface DeliveryCounts {
  readonly pending: number;
  readonly dead: number;
}

/** Deliveries, ordered by subscription. */
export interface DeliveryStore {
  /**
   * Claims deliveries, longest due first, at most `limit`: of each active subscription the first pending one, if it is
   * due by `now` and not claimed. No other caller receives them before `until`. A delivery that waits for its retry
   * blocks only later deliveries of the same subscription. At most `perAccount` deliveries are claimed per account. The
   * first delivery of every account is claimed before the second delivery of any account.
   *
   * @returns The claimed deliveries, and the earliest time after `now` at which another becomes due; null if none does.
   */
  claim(request: {
    readonly now: number;
    readonly until: number;
    readonly limit: number;
    /** Default: unlimited. */
    readonly perAccount?: number;
    /** Accounts and channels whose deliveries are not claimed now. Default: none. */
    readonly busy?: { readonly accounts: readonly Address[]; readonly channels: readonly string[] };
  }): Promise<{ readonly claimed: ClaimedDelivery[]; readonly next: number | null }>;

  /**
   * Records the result of a claimed delivery. Does nothing if the delivery was claimed again or removed in the
   * meantime. A delivery that was dropped in the meantime becomes `delivered` if it was delivered, so that it is not
   * repeated; otherwise it stays dropped.
   */
  settle(request: {
    readonly seq: number;
    readonly claim: number;
    readonly outcome:
      | { readonly status: 'delivered' }
      | { readonly status: 'retry'; readonly at: number; readonly error: string }
      /** No attempt was made. The delivery is due at `at`. */
      | { readonly status: 'released'; readonly at: number }
      | { readonly status: 'dead'; readonly error: string };
  }): Promise<'settled' | 'lost'>;

  /** Reads deliveries in a state, oldest first, only those above `after`. */
  list(query: { readonly state: DeliveryState; readonly after?: number; readonly limit: number }): Promise<Delivery[]>;

  /** Counts pending and dead deliveries. The duration MUST NOT grow with the number of completed deliveries. */
  count(): Promise<DeliveryCounts>;

  /**
   * Makes dead deliveries pending again, due at `now` and with no attempts: the listed ones, or all. They keep their
   * positions. A delivery whose notification has been withdrawn is dropped instead.
   *
   * @returns The number of deliveries that are pending again.
   */
  replay(request: { readonly seqs?: readonly number[]; readonly now: number }): Promise<number>;
}

import type { Address, Hex } from '../protocol/hex.ts';
import type { Clock } from './clock.ts';
import type { LeaseStore } from './store.ts';

/**
 * Where the account interface keeps what it knows, for all books together: notifications, affiliate codes,
 * subscriptions and what is to be delivered to them. An implementation MUST pass `accountStoreConformance` of
 * `intentbook/testing`; the memory account store is its oracle.
 *
 * Every verb that writes is one atomic step with a condition, as those of `Store` are: all of it is there afterwards, or
 * none of it, and it says what happened instead of throwing for a lost race. When its promise is fulfilled, a durable
 * store MUST have the outcome on stable storage. A rejected promise means a failure, after which nothing of the step is
 * there.
 *
 * A store that several processes write to has three duties more. `append` MUST judge the cursor under a lock, so that of
 * two that carry on from one place exactly one succeeds. Ids of the log MUST follow the order of commits: no reader is
 * shown an id while a smaller one may still appear, whatever feed it came from. And `claim` MUST hand a delivery to one
 * of several that ask at once.
 */
export interface AccountStore {
  readonly traits: AccountStoreTraits;

  /**
   * Makes the store ready. Creates the schema or migrates an older one where this store does that itself. MUST reject with a
   * `StoreError`: a newer schema (`SchemaTooNew`), a second live writer where there can be one only (`WriterActive`).
   */
  open(context: { readonly clock: Clock }): Promise<void>;

  /** Finishes what runs and lets go of everything. A second call does nothing. A closed store can be opened again. */
  close(): Promise<void>;

  /** One cheap round trip to the storage. Rejects when it cannot be written to. */
  check(): Promise<void>;

  readonly notifications: NotificationStore;
  readonly affiliates: AffiliateStore;
  readonly subscriptions: SubscriptionStore;
  readonly deliveries: DeliveryStore;
  readonly leases: LeaseStore;
}

/** What an account store says of itself. */
export interface AccountStoreTraits {
  /** For people and logs: `memory`, `sqlite`, `postgres`. */
  readonly name: string;
  /** Whether what was acknowledged survives the process and the machine. */
  readonly durable: boolean;
  /** Whether several processes may write to one store at once. */
  readonly writers: 'single' | 'many';
}

/** The types of notifications (contract, "Events"). */
export const NOTIFICATION_TYPES = [
  'order_filled',
  'order_expired',
  'order_cancelled',
  'order_partially_filled',
  'insufficient_balance',
  'price_improvement',
] as const;
/** What an account can be told of. */
export type NotificationType = (typeof NOTIFICATION_TYPES)[number];

/** A notification to store. It never changes; it may be withdrawn, and come back. */
export interface NewNotification {
  /** Derived from the cause, so that the same cause told twice is one notification. At most 100 characters of ASCII. */
  readonly id: string;
  readonly account: Address;
  readonly type: NotificationType;
  /** When the cause happened, in milliseconds since 1970. */
  readonly at: number;
  /** The wire's notification, rendered once as a JSON object. The store keeps the text as it is. */
  readonly body: string;
}

/** What a batch does to the list of notifications. */
export type NotificationChange =
  /**
   * Makes a notification visible. One that is there and visible stays as it is. One that was withdrawn becomes visible
   * again, in its old place of the list, under the body that it was first stored with.
   */
  | { readonly type: 'notify'; readonly notification: NewNotification }
  /** Hides a notification. Nothing happens when it is not there, or hidden. */
  | { readonly type: 'withdraw'; readonly id: string };

/** Something to remember beside a feed, by a key of its own. A `null` value forgets it. */
export interface ProgressMarker {
  readonly key: string;
  readonly value: string | null;
}

/** What follows from one stretch of a feed. */
export interface NotificationBatch {
  /** Which feed: the log of a book, or a check that runs over and over. */
  readonly feed: string;
  /** The cursor that the changes were derived from; null when the feed has none yet. */
  readonly after: number | null;
  /** The cursor afterwards, above the one before. */
  readonly through: number;
  /** Applied in this order. */
  readonly changes: readonly NotificationChange[];
  readonly marks?: readonly ProgressMarker[];
}

/** What became of a step of the log. */
export type AppendOutcome =
  /** How many of the changes changed something. */
  | { readonly status: 'appended'; readonly changed: number }
  /** Somebody else has carried on from there; nothing was written. */
  | { readonly status: 'moved'; readonly cursor: number | null };

/** A notification as a list returns it. */
export interface StoredNotification {
  readonly id: string;
  /** Its place in the log when it first came; orders those of one moment. */
  readonly seq: number;
  readonly at: number;
  readonly body: string;
}

/** A place in a list of notifications: the one that was served last. */
export interface NotificationCursor {
  readonly at: number;
  readonly seq: number;
}

/** One entry of the account log, written together with its change. */
export interface AccountLogEntry {
  /** Counts up, over all accounts and feeds. */
  readonly id: number;
  readonly account: Address;
  readonly type: 'notification' | 'withdrawn';
  /** The notification's id. */
  readonly notification: string;
  /** The notification as the wire shows it, whatever has become of it since. */
  readonly body: string;
}

/** What accounts were told, and the log of it that streams read. */
export interface NotificationStore {
  /** How far a feed has been worked off; null when nothing of it has. */
  cursor(feed: string): Promise<number | null>;

  /**
   * Writes what a stretch of a feed means, in one step: the changes, an entry of the account log for each that changed
   * something, the deliveries that hang on them, the marks, and the feed's cursor. Only if that is still `after`; so a
   * cause is told once, whoever dies when, and whoever else derives the same.
   *
   * Notifying makes a `pending` delivery for each active subscription of the account that asks for the type, unless it
   * has one for this notification; one that was `dropped` becomes pending again, in its old place. Withdrawing drops the
   * deliveries that are still pending. What was delivered, or is dead, stays so.
   */
  append(batch: NotificationBatch): Promise<AppendOutcome>;

  /**
   * Lists the visible notifications of an account, newest first: by `at`, then by `seq`, both descending. The time it
   * takes MUST NOT grow with how deep the cursor stands.
   */
  list(query: {
    readonly account: Address;
    readonly after?: NotificationCursor;
    readonly limit: number;
  }): Promise<StoredNotification[]>;

  /** Reads marks of a feed. Those that are not there are absent. */
  marks(feed: string, keys: readonly string[]): Promise<ProgressMarker[]>;

  /** The id of the newest entry of the account log, 0 when there is none. */
  last(): Promise<number>;

  /**
   * Reads the account log in the order of its ids: entries above `id`, of one account when it is given, at most `limit`.
   * The time it takes MUST NOT grow with entries of other accounts.
   */
  after(id: number, limit: number, account?: Address): Promise<AccountLogEntry[]>;

  /** Tells when there may be new entries that this process did not write. A hint, as `EventStore.watch` gives. */
  watch(hint: () => void): () => void;
}

/** A code to bind to a wallet, its signature verified by the caller. */
export interface NewAffiliate {
  readonly walletAddress: Address;
  /** In its normal form: trimmed, upper case. */
  readonly code: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** What was signed, 32 bytes. */
  readonly digest: Hex;
  /** The signature in its one form: low s, v of 27 or 28; a contract's as it came. */
  readonly signedMessage: Hex;
}

/** A code and the wallet that has signed it. `createdAt` is milliseconds since 1970. */
export interface Affiliate {
  readonly walletAddress: Address;
  readonly code: string;
  readonly createdAt: number;
}

/** The first that holds is the answer (decision 5.3). */
export type RegisterOutcome =
  | { readonly status: 'registered' }
  /** The wallet has a code already. */
  | { readonly status: 'bound' }
  /** The digest or the signature was used before, whatever has become of that registration. */
  | { readonly status: 'used' }
  /** The code is somebody else's. */
  | { readonly status: 'taken' };

/** Codes, the wallets that they are bound to, and the signatures that were used for it. */
export interface AffiliateStore {
  /**
   * Binds a code to a wallet and records digest and signature as used, in one step. Of several that want one code, one
   * wallet, or to use one signature, exactly one is `registered`.
   */
  register(affiliate: NewAffiliate): Promise<RegisterOutcome>;
  byWallet(walletAddress: Address): Promise<Affiliate | undefined>;
  /** @param code in its normal form. */
  byCode(code: string): Promise<Affiliate | undefined>;
}

/** Where notifications of an account go. */
export interface Subscription {
  /** Unguessable text of the caller's making. */
  readonly id: string;
  readonly account: Address;
  /** The name of the channel: `webhook`, `email`, `telegram`, `webpush`. */
  readonly channel: string;
  /** What the channel sends to: a URL, an address, a chat. */
  readonly target: string;
  readonly types: readonly NotificationType[];
  readonly state: 'pending' | 'active';
  /** What deliveries are signed with, where the channel signs. */
  readonly secret: string | null;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

/** A signature that authorises one change (decision 5.8). */
export interface UsedNonce {
  readonly account: Address;
  /** Decimal. */
  readonly nonce: string;
  /** When the record may be forgotten, in milliseconds since 1970: the signature's deadline. */
  readonly expiresAt: number;
}

/** A subscription before it is stored. */
export interface NewSubscription {
  readonly subscription: Subscription;
  /** How a pending one is confirmed: a hash of the token that was sent out, and until when it is good. */
  readonly confirmation?: { readonly tokenHash: Hex; readonly expiresAt: number };
  readonly nonce: UsedNonce;
  /** How many subscriptions the account may have, this one and pending ones included. */
  readonly cap: number;
  /** Milliseconds since 1970, by which pending ones and nonces are over. */
  readonly now: number;
}

/** What became of a subscription. */
export type SubscribeOutcome =
  | { readonly status: 'created' }
  /** The nonce was used before. */
  | { readonly status: 'used' }
  | { readonly status: 'capped'; readonly limit: number };

/** Who is told by which channel. */
export interface SubscriptionStore {
  /**
   * Stores a subscription and uses up its nonce, in one step. Pending subscriptions whose confirmation is over, and nonces
   * that are, make room before anything is counted.
   */
  create(request: NewSubscription): Promise<SubscribeOutcome>;

  /**
   * Makes a pending subscription active and uses its token up.
   *
   * @param target what is sent to from now on, where only the confirmation tells.
   * @returns the subscription, or `undefined` when the token is unknown, used or over at `now`.
   */
  confirm(request: {
    readonly tokenHash: Hex;
    readonly now: number;
    readonly target?: string;
  }): Promise<Subscription | undefined>;

  /** The subscriptions of an account, oldest first. */
  list(account: Address): Promise<Subscription[]>;

  /**
   * Removes a subscription with all that was to be delivered to it, and uses up the nonce, where one is given, in one
   * step. Of another account's it says `missing`, and uses the nonce up all the same.
   */
  remove(request: {
    readonly id: string;
    readonly account: Address;
    readonly nonce?: UsedNonce;
    readonly now: number;
  }): Promise<'removed' | 'missing' | 'used'>;
}

/** What has become of a notification on its way to a subscription. */
export type DeliveryState = 'pending' | 'delivered' | 'dead' | 'dropped';

/** One notification on its way to one subscription. */
export interface Delivery {
  /** Its place: those of a subscription are delivered in this order. */
  readonly seq: number;
  readonly subscription: string;
  readonly notification: string;
  readonly account: Address;
  readonly channel: string;
  readonly state: DeliveryState;
  /** How often it was tried. */
  readonly attempts: number;
  /** What went wrong last, for the operator. */
  readonly error: string | null;
}

/** A delivery to make now. */
export interface ClaimedDelivery {
  readonly seq: number;
  readonly subscription: Subscription;
  readonly notification: string;
  readonly body: string;
  /** Counts the tries, this one included. */
  readonly attempt: number;
  /** Counts the claims of this delivery, and is never reset: the right to settle it. */
  readonly claim: number;
}

/** How many deliveries are in a state that somebody has to do something about. */
export interface DeliveryCounts {
  readonly pending: number;
  readonly dead: number;
}

/** What is to be delivered, in order by subscription, and what was given up. */
export interface DeliveryStore {
  /**
   * Takes deliveries to make: of each active subscription the first that is pending, if it is due by `now` and nobody has
   * it, at most `limit`, the longest due first. Nobody else is given them before `until`. So a delivery that waits for its next try
   * holds back those behind it, and no others.
   *
   * @returns besides, when there may be something to claim again, by what is known now; null when nothing is pending.
   */
  claim(request: {
    readonly now: number;
    readonly until: number;
    readonly limit: number;
  }): Promise<{ readonly claimed: ClaimedDelivery[]; readonly next: number | null }>;

  /**
   * Says what came of a claimed delivery. Somebody else may have claimed it since, or it was removed: then nothing happens.
   * One that was dropped meanwhile is `delivered` if it was, so that it is not made again, and stays dropped otherwise.
   */
  settle(request: {
    readonly seq: number;
    readonly claim: number;
    readonly outcome:
      | { readonly status: 'delivered' }
      | { readonly status: 'retry'; readonly at: number; readonly error: string }
      | { readonly status: 'dead'; readonly error: string };
  }): Promise<'settled' | 'lost'>;

  /** Reads deliveries in a state, oldest first, those above `after` only. */
  list(query: { readonly state: DeliveryState; readonly after?: number; readonly limit: number }): Promise<Delivery[]>;

  /** Counts what waits to be delivered and what was given up. The time it takes MUST NOT grow with what was delivered. */
  count(): Promise<DeliveryCounts>;

  /**
   * Makes dead deliveries pending again, due by `now`, as if never tried: those listed, or all. They keep their places.
   * One whose notification has been withdrawn is dropped instead.
   *
   * @returns how many are pending again.
   */
  replay(request: { readonly seqs?: readonly number[]; readonly now: number }): Promise<number>;
}

import type { Address, Hex } from '../protocol/hex.ts';
import type { NotificationType } from './notification-store.ts';

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
  /** `pending` until it is confirmed; `suspended` after a day of failures. Only an active one receives deliveries. */
  readonly state: 'pending' | 'active' | 'suspended';
  /** The key with which deliveries are signed, if the channel signs. */
  readonly secret: string | null;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** Time of the first failure since the last success, in milliseconds since 1970. Absent if no attempt has failed. */
  readonly failingSince?: number;
}

/** The nonce of a signature that authorises one change. See docs/internals/decisions.md#d5-8. */
export interface UsedNonce {
  readonly account: Address;
  /** Decimal. */
  readonly nonce: string;
  /**
   * Time after which the record may be deleted, in milliseconds since 1970: a day after the signature's deadline,
   * because a clock may be set back.
   */
  readonly expiresAt: number;
}

/** A subscription to store. */
export interface NewSubscription {
  readonly subscription: Subscription;
  /** Confirmation of a pending subscription: hash of the token that confirms it, and its expiry time. */
  readonly confirmation?: { readonly tokenHash: Hex; readonly expiresAt: number };
  readonly nonce: UsedNonce;
  /** Maximum number of subscriptions of the account, including this one and pending ones. */
  readonly quota: number;
  /** Limits of invitations, for a channel that sends one to the target. Default: the invitation is not counted. */
  readonly invitation?: InvitationLimits;
  /** Current time in milliseconds since 1970, for the expiry of pending subscriptions. */
  readonly now: number;
}

/** Limits of the invitations that a channel sends to its targets. */
export interface InvitationLimits {
  /** Invitations sent at or after this time count. In milliseconds since 1970. */
  readonly since: number;
  /** Maximum number of invitations to the same target. Only one may wait for its confirmation. */
  readonly perTarget: number;
  /** Maximum number of invitations of the account, over all channels. */
  readonly perAccount: number;
  /** The client that sends the request, and its maximum number of invitations. Absent: not limited. */
  readonly client?: string | undefined;
  readonly perClient: number;
  /** The domain of the target, and its maximum number of invitations. Absent: not limited. */
  readonly domain?: string | undefined;
  readonly perDomain: number;
  /** Maximum number of invitations of the channel. */
  readonly perChannel: number;
}

/** The limit that rejects an invitation, in the order in which they are checked. */
export type InvitationLimit = 'pending' | 'target' | 'account' | 'client' | 'domain' | 'channel';

/** The result of creating a subscription. */
export type SubscribeOutcome =
  | { readonly status: 'created' }
  /** The account has an active subscription of this channel and target. Its types were replaced. */
  | { readonly status: 'updated'; readonly subscription: Subscription }
  /** The nonce was used before. */
  | { readonly status: 'used' }
  | { readonly status: 'quotaExceeded'; readonly quota: number }
  /** An invitation to the target waits for its confirmation, or a limit of invitations is reached. */
  | { readonly status: 'limited'; readonly by: InvitationLimit };

/** Subscriptions of accounts to channels. */
export interface SubscriptionStore {
  /**
   * Stores a subscription and marks its nonce as used, in one step. Pending subscriptions with an expired confirmation
   * are deleted before anything is counted. A nonce is used until `pruneNonces` deletes it: the clock of this process
   * may be ahead. An invitation stays counted when its subscription is removed, unless it was not sent.
   *
   * An account has one active subscription for each channel and target. If it exists, its types are replaced and no
   * other one is stored. A suspended one is removed with its deliveries, and the new one is stored. An empty target is
   * compared with no other: the confirmation reveals it.
   */
  create(request: NewSubscription): Promise<SubscribeOutcome>;

  /**
   * Activates a pending subscription. The token of an active one returns it unchanged, because a confirmation may be
   * repeated. If the account has an active subscription of the same
   * channel and target, that one gets the types and the pending one is removed. A suspended one is removed.
   *
   * @param target - The new target, for channels where only the confirmation reveals it.
   * @returns The active subscription, or `undefined` if the token is unknown or expired at `now`, or if the target is
   * not known.
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
   *
   * With `isUnsent`, its invitation of the time `createdAt` was not sent. It then counts for its account and client
   * only, and not for the target, the domain and the channel.
   */
  remove(request: {
    readonly id: string;
    readonly account: Address;
    readonly nonce?: UsedNonce;
    readonly isUnsent?: boolean;
  }): Promise<'removed' | 'missing' | 'used'>;
}

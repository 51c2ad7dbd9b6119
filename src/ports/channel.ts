import type { Subscription } from './subscription-store.ts';

/**
 * A channel over which notifications are sent: a webhook, a bot, a mail server. Each call has a deadline at which
 * `signal` is aborted; later results are ignored. An implementation MUST NOT keep state between calls that a second
 * process would need. Operators see `error`, so it MUST NOT contain secrets.
 */
export interface Channel {
  /** Name in subscriptions: `webhook`, `email`, `telegram`, `webpush`. */
  readonly name: string;

  /** Parses a target into its normal form; `undefined` if it is not a valid target of this channel. */
  parseTarget(target: string): string | undefined;

  /**
   * Returns the host that deliveries to a target connect to, if the subscriber has chosen it. Attempts to one host are
   * limited. `undefined`, and by default: no such host.
   */
  getHost?(target: string): string | undefined;

  /** Whether deliveries are signed with a secret of the subscription. The secret is shown once. */
  readonly signs: boolean;

  /**
   * How the owner of a target confirms a subscription:
   * - `none`: no confirmation; knowledge of the target is sufficient.
   * - `echo`: the target must respond to a challenge immediately (`challenge`).
   * - `token`: a token must be returned (`invite`).
   */
  readonly confirmation: 'none' | 'echo' | 'token';

  /** Sends a challenge. Returns whether the target returned it. A rejection counts as `false`. */
  challenge?(target: string, challenge: string, call: ChannelCall): Promise<boolean>;

  /**
   * Sends a confirmation token, or returns where to enter it.
   *
   * @returns Text for the subscriber, if any: a link that contains the token.
   */
  invite?(invitation: Invitation, call: ChannelCall): Promise<string | undefined>;

  /** Makes one delivery attempt. A rejection and an invalid result count as `failed`. */
  deliver(delivery: ChannelDelivery, call: ChannelCall): Promise<DeliveryResult>;

  /** Starts to listen for tokens that are returned over the channel itself. */
  start?(host: ChannelHost): void;
  /** Stops listening, and waits for running work. */
  stop?(): Promise<void>;
}

/** The context of a channel call. The signal is aborted at the deadline. */
export interface ChannelCall {
  readonly signal: AbortSignal;
  /**
   * Reserves a connection to an IP address that the subscriber has chosen, for the time of a delivery attempt. Names of
   * one receiver then share its limit. If it returns false, the channel MUST NOT connect, and returns `deferred`.
   * Absent: no limit.
   */
  readonly enter?: (address: string) => boolean;
}

/** A token for the confirmation of a subscription. */
export interface Invitation {
  readonly subscription: Subscription;
  readonly token: string;
  /** Path and query, relative to the account interface, that confirm the token. */
  readonly path: string;
}

/** A notification to deliver to a target. */
export interface ChannelDelivery {
  /** The same for every attempt, so that a receiver can detect duplicates. */
  readonly id: string;
  readonly subscription: Subscription;
  /** The notification as JSON. */
  readonly body: string;
  /**
   * Path and query, relative to the account interface, of the page that removes the subscription. Also accepts POST
   * (RFC 8058).
   */
  readonly unsubscribePath?: string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** The result of a delivery attempt. */
export type DeliveryResult =
  | { readonly status: 'delivered' }
  /** No connection was made, because the address has its maximum number of attempts. */
  | { readonly status: 'deferred' }
  /** The delivery is retried, not before `retryAfter` seconds if given. */
  | { readonly status: 'failed'; readonly error: string; readonly retryAfter?: number }
  /** The target no longer exists: the subscription is removed. */
  | { readonly status: 'gone'; readonly error: string };

/** The functions of the account interface that a channel may call. */
export interface ChannelHost {
  /** Confirms a token. Returns whether it was valid. */
  confirm(token: string, target: string): Promise<boolean>;
  readonly report: (failure: unknown) => void;
}

import type { Subscription } from './account-store.ts';

/**
 * A way to reach people: a webhook, a bot, a mail server. Called with a deadline, at which `signal` is aborted; what a call does
 * after that is dropped. An implementation MUST NOT keep anything between calls that a second process would need, and what it
 * says in `error` is shown to operators, so it MUST NOT carry secrets.
 */
export interface Channel {
  /** What subscriptions name it by: `webhook`, `email`, `telegram`, `webpush`. */
  readonly name: string;

  /** Reads a target in its one form; `undefined` when it is none of this channel's. */
  parseTarget(target: string): string | undefined;

  /** Whether a subscription has a secret that deliveries are signed with. It is shown once. */
  readonly signs: boolean;

  /**
   * How a subscription proves that its target wants it. `none`: whoever knows the target is entitled. `echo`: the target has
   * to answer a challenge at once (`challenge`). `token`: somebody has to bring a token back (`invite`).
   */
  readonly confirmation: 'none' | 'echo' | 'token';

  /** Sends a challenge. @returns whether it came back. Rejecting says the same as `false`. */
  challenge?(target: string, challenge: string, call: ChannelCall): Promise<boolean>;

  /**
   * Sends a token out, or says where to bring it.
   *
   * @returns what the subscriber is to be shown, if anything: a link that has the token in it.
   */
  invite?(invitation: Invitation, call: ChannelCall): Promise<string | undefined>;

  /** Delivers once. Rejecting says the same as `failed`. */
  deliver(delivery: ChannelDelivery, call: ChannelCall): Promise<DeliveryResult>;

  /** Begins to listen for tokens that are brought back over the channel itself. */
  start?(host: ChannelHost): void;
  /** Ends that, and waits for what runs. */
  stop?(): Promise<void>;
}

/** What a channel is told beside a message. The signal is aborted at its deadline. */
export interface ChannelCall {
  readonly signal: AbortSignal;
}

/** A token on its way to who can confirm a subscription. */
export interface Invitation {
  readonly subscription: Subscription;
  readonly token: string;
  /** Path and query, below the account interface's address, that use the token up. */
  readonly path: string;
}

/** What a channel brings to a target. */
export interface ChannelDelivery {
  /** The same for every try, so that a receiver can tell a second one. */
  readonly id: string;
  readonly subscription: Subscription;
  /** The notification as JSON (contract, "Notification"). */
  readonly body: string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** How a delivery went: well, failed for now, or for good. */
export type DeliveryResult =
  | { readonly status: 'delivered' }
  /** It is tried again, not before `retryAfter` seconds when it is given. */
  | { readonly status: 'failed'; readonly error: string; readonly retryAfter?: number }
  /** There is nobody any more at the target: the subscription is removed. */
  | { readonly status: 'gone'; readonly error: string };

/** What a channel may ask of the account interface. */
export interface ChannelHost {
  /** Uses a token up. @returns whether it was good. */
  confirm(token: string, target: string): Promise<boolean>;
  readonly report: (failure: unknown) => void;
}

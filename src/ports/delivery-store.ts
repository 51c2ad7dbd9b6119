import type { Address } from '../protocol/hex.ts';
import type { Subscription } from './subscription-store.ts';

/** The state of a delivery. */
export type DeliveryState =
  /** An attempt is due, in progress or scheduled. */
  | 'pending'
  | 'delivered'
  /** All attempts have failed. `replay` makes it pending again. */
  | 'dead'
  /** Its notification was withdrawn before it was delivered. */
  | 'dropped';

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
  /** Number of claims of this delivery. It is never reset and authorises `recordResult`. */
  readonly claim: number;
  /** Whether the last attempt of the subscription succeeded. */
  readonly isReliable: boolean;
}

/**
 * The deliveries of a channel to subscriptions whose last attempt succeeded, or to all others of the channel: those
 * that fail, and those without an attempt so far.
 */
export interface DeliveryLane {
  readonly channel: string;
  readonly isReliable: boolean;
}

/** Numbers of deliveries that still need work. */
export interface DeliveryCounts {
  readonly pending: number;
  readonly dead: number;
  /** Number of suspended subscriptions. */
  readonly suspended: number;
}

/** Deliveries, ordered by subscription. */
export interface DeliveryStore {
  /**
   * Claims deliveries, longest due first, at most `limit`. Of each active subscription, only the first pending delivery
   * is a candidate: if it is due by `now` and not claimed. No other caller receives a claimed delivery before `until`.
   * A delivery that waits for its retry blocks only later deliveries of the same subscription. At most `perAccount`
   * deliveries are claimed per account. The first delivery of every account is claimed before the second delivery of
   * any account.
   *
   * The work MUST NOT grow with the number of pending deliveries: of each lane, only the `CLAIM_WINDOW` longest due
   * candidates whose accounts are not busy are compared.
   *
   * @returns The claimed deliveries, and the earliest time after `now` at which another becomes due; null if none does.
   */
  claim(request: {
    readonly now: number;
    readonly until: number;
    readonly limit: number;
    /**
     * Maximum time in milliseconds that a delivery may wait. A later due time comes from a clock that was set back, so
     * the delivery is due. Default: unlimited.
     */
    readonly maxDelay?: number;
    /** Maximum number of deliveries per account. Default: unlimited. */
    readonly perAccount?: number;
    /** Accounts whose deliveries are not claimed now. Default: none. */
    readonly busyAccounts?: readonly Address[];
    /** Maximum numbers of deliveries per lane. Default, and for lanes that are not listed: `limit`. */
    readonly lanes?: readonly (DeliveryLane & { readonly limit: number })[];
  }): Promise<{ readonly claimed: ClaimedDelivery[]; readonly next: number | null }>;

  /**
   * Records the result of a claimed delivery. Does nothing if the delivery was claimed again or removed in the
   * meantime. A delivery that was dropped in the meantime becomes `delivered` if it was delivered, so that it is not
   * repeated; otherwise it stays dropped.
   *
   * `delivered` makes the subscription reliable. With `retry`, `dead` and `suspended` it is failing: since the first of
   * these without a `delivered` after it, by the clock of the store. `released` changes neither.
   */
  recordResult(request: {
    readonly seq: number;
    readonly claim: number;
    readonly outcome:
      | { readonly status: 'delivered' }
      /** The attempt has failed. The next one is due at `at`. */
      | { readonly status: 'retry'; readonly at: number; readonly error: string }
      /** No attempt was made. The delivery is due at `at`. */
      | { readonly status: 'released'; readonly at: number }
      /** The last attempt has failed. */
      | { readonly status: 'dead'; readonly error: string }
      /** Suspends the subscription: it gets no further deliveries. All of its pending deliveries are dead. */
      | { readonly status: 'suspended'; readonly error: string };
  }): Promise<'recorded' | 'lost'>;

  /** Reads deliveries in a state, oldest first, only those above `after`. */
  list(query: { readonly state: DeliveryState; readonly after?: number; readonly limit: number }): Promise<Delivery[]>;

  /**
   * Counts pending and dead deliveries, and suspended subscriptions. The duration MUST NOT grow with the number of
   * completed deliveries.
   */
  count(): Promise<DeliveryCounts>;

  /**
   * Makes dead deliveries pending again, due at `now` and with no attempts: the listed ones, or all. They keep their
   * positions. A delivery whose notification has been withdrawn is dropped instead. A suspended subscription of a
   * replayed delivery is active again and no longer failing.
   *
   * @returns The number of deliveries that are pending again.
   */
  replay(request: { readonly seqs?: readonly number[]; readonly now: number }): Promise<number>;
}

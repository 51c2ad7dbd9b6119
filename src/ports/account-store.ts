import type { Address } from '../protocol/hex.ts';
import type { AffiliateStore } from './affiliate-store.ts';
import type { Clock } from './clock.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { NotificationStore } from './notification-store.ts';
import type { AccountRetentionStore } from './retention.ts';
import type { LeaseStore } from './store.ts';
import type { SubscriptionStore } from './subscription-store.ts';

/**
 * Persistence of the account interface, for all books together: notifications, affiliate codes, subscriptions and
 * deliveries. An implementation MUST pass `accountStoreConformance` of `intentbook/testing`; the memory account store
 * is its oracle.
 *
 * Every method that writes is one atomic, conditional step, as in `Store`: either all of it is stored or nothing. It
 * returns the outcome instead of throwing for a lost race. When its promise is fulfilled, a durable store MUST have the
 * outcome on stable storage. A rejected promise is a failure after which nothing of the step is stored.
 *
 * All times are in milliseconds since 1970, and all durations in milliseconds.
 *
 * A store with several writing processes has three further obligations:
 * - `append` MUST compare the cursor under a lock, so that of two concurrent calls with the same cursor exactly one
 *   succeeds.
 * - Ids of the log MUST follow the order of commits: no reader sees an id while a smaller one may still appear, for all
 *   feeds.
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

  /**
   * Deletes the personal data of an account in one step: its subscriptions with their targets and deliveries, its
   * invitations, its notifications, and its affiliate code.
   *
   * - Its entries of the log stay as withdrawals of `FORGOTTEN` of `intentbook/store-kit`: ids remain, and no reader
   *   receives a gap.
   * - Its code stays if the value of a referred trade names the account, because a payout requires it.
   * - Nonces and used signatures stay: without them, an old request could be repeated.
   */
  forget(account: Address): Promise<ForgottenAccount>;

  readonly notifications: NotificationStore;
  readonly affiliates: AffiliateStore;
  readonly subscriptions: SubscriptionStore;
  readonly deliveries: DeliveryStore;
  readonly leases: LeaseStore;
  readonly retention: AccountRetentionStore;
}

/** What was deleted of an account. */
export interface ForgottenAccount {
  /** Number of subscriptions. */
  readonly subscriptions: number;
  /** Number of notifications. */
  readonly notifications: number;
  /** The affiliate code of the account: it had none, it was deleted, or it was kept for payouts. */
  readonly affiliate: 'none' | 'deleted' | 'kept';
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

import type { SourceListener } from '../account-tools/observations.ts';
import type { AffiliateApi } from '../affiliates/index.ts';
import type { Readiness } from '../concurrency/lifecycle.ts';
import type { PoolApi, SimulationApi, SlippageApi, TokenApi, UsdPriceApi } from '../market/index.ts';
import type { AccountBacklog, DeliveryApi, NotificationApi, SubscriptionApi } from '../notifications/index.ts';
import type { ForgottenAccount } from '../ports/account-store.ts';
import type { Clock } from '../ports/clock.ts';
import type { AccountBalances } from './account-balances.ts';
import type { HistoryApi } from './history/history-api.ts';

/** The account interface of one or more books. See docs/internals/decisions.md#d5-9. */
export interface Accounts {
  readonly notifications: NotificationApi;
  readonly subscriptions: SubscriptionApi;
  readonly deliveries: DeliveryApi;
  readonly history: HistoryApi;
  readonly affiliates: AffiliateApi;
  readonly usdPrices: UsdPriceApi;
  readonly slippage: SlippageApi;
  readonly tokens: TokenApi;
  readonly simulation: SimulationApi;
  readonly pools: PoolApi;
  readonly balances: AccountBalances;

  /** The clock, for mounts. */
  readonly clock: Clock;

  /**
   * Opens the store and starts to process the logs of the books, which the host has started. Every method rejects
   * before.
   */
  start(): Promise<void>;
  /**
   * Stops processing and closes the store; must be called before the books are closed. Concurrent calls wait for the
   * same end. It can be started again.
   */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
  /** Returns whether it can serve requests. Never rejects. */
  ready(): Promise<Readiness>;
  /**
   * Deletes the personal data of an account: its subscriptions with their targets and deliveries, its notifications and
   * its affiliate code. Orders stay, and later events of them create notifications again. The code stays if a referred
   * trade was valued for it, because its payout requires it. Rejects with `InvalidParameter` for an invalid address.
   */
  forget(account: string): Promise<ForgottenAccount>;
  /** Returns the backlog of notifications and deliveries. */
  backlog(): Promise<AccountBacklog>;
  /**
   * Adds a listener of the queries of sources: prices, histories, tokens, pools, simulations and statistics.
   *
   * @returns a function that removes it.
   */
  observe(listener: SourceListener): () => void;
  /** Reports a failure for which no caller waits to `onFailure`. For mounts. */
  reportError(failure: unknown): void;
}

import type { DocumentPolicy } from '../app-data/documents.ts';
import type { DeadlineLimiter } from '../concurrency/deadline.ts';
import type { OrderBookError } from '../errors.ts';
import type { ChainClient } from '../ports/chain-client.ts';
import type { Clock } from '../ports/clock.ts';
import type { OrderStore, Store } from '../ports/store.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { AuthenticationContext } from './authenticate.ts';
import type { ContractSignatures } from './checks.ts';
import type { Limits, OwnerLimitsTable, TokenPolicy } from './limits.ts';
import type { VerifiedOrder } from './verified-order.ts';

/** Policy functions of the host for order validation. */
export interface OrderPolicy {
  /**
   * Returns whether an address is denied. Called for the owner and the receiver of each order. An order with a denied
   * address is rejected with `Forbidden`. If the function throws, rejects or returns anything except a boolean, the
   * order is rejected with `InternalServerError`, retryable.
   */
  readonly isDenied?: (address: Address, call: PolicyContext) => boolean | Promise<boolean>;
  /**
   * Returns whether an order may be settling now, so that it must not be replaced: then the new order is rejected with
   * `OldOrderActivelyBidOn`. Errors are handled as for `isDenied`.
   */
  readonly isActivelyBidOn?: (uid: Hex, call: PolicyContext) => boolean | Promise<boolean>;
}

/** The context of a call to a policy function. */
export interface PolicyContext {
  /** Aborted when the result is no longer needed. */
  readonly signal: AbortSignal;
}

/** The dependencies of order admission. */
export interface AdmissionContext extends AuthenticationContext {
  readonly store: Store;
  /** Waits until the order may be processed when many arrive at once. */
  readonly pace: () => Promise<void>;
  /** Inserts orders like `store.orders.insert`, grouped with those of other callers. */
  readonly insert: OrderStore['insert'];
  readonly clock: Clock;
  readonly limits: Limits;
  readonly ownerLimits: OwnerLimitsTable;
  readonly tokens: TokenPolicy;
  readonly documents: DocumentPolicy;
  readonly eip1271: ContractSignatures;
  readonly host: OrderPolicy;
  /** Whether the book quotes, so that an order without a quote id can still be matched to a quote. */
  readonly quoting: boolean;
  readonly chain: ChainClient | undefined;
  /** The spender that owners approve for their sell tokens. */
  readonly vaultRelayer: Address;
  readonly remote: DeadlineLimiter;
  /** Reports the errors behind a rejection: why the chain or the host failed. */
  readonly onFailure: (failure: unknown) => void;
}

/** The UIDs of the orders that are submitted together. */
export type Batch = ReadonlySet<Hex>;

/** A check that queries the store, the host or the chain. */
export type RemoteCheck = (
  candidate: VerifiedOrder,
  context: AdmissionContext,
  batch: Batch,
) => Promise<OrderBookError | undefined>;

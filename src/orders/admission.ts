import type { DocumentPolicy } from '../app-data/documents.ts';
import type { Remote } from '../concurrency/deadline.ts';
import type { OrderBookError } from '../errors.ts';
import type { ChainClient } from '../ports/chain-client.ts';
import type { Clock } from '../ports/clock.ts';
import type { OrderStore, Store } from '../ports/store.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { AuthenticationContext } from './authenticate.ts';
import type { ContractSignatures } from './checks.ts';
import type { Limits, OwnerLimitsTable, TokenPolicy } from './limits.ts';
import type { VerifiedOrder } from './verified-order.ts';

/** What the host decides about an order, besides its options. */
export interface OrderPolicy {
  /**
   * Whether nothing is to be traded for this address, asked for the owner and the receiver of each order. An order that
   * names one that is denied is rejected with `Forbidden`. When it throws, rejects or answers anything but a boolean,
   * nobody gets in: the order is rejected with `InternalServerError`, retryable.
   */
  readonly isDenied?: (address: Address, call: PolicyContext) => boolean | Promise<boolean>;
  /**
   * Whether an order may be settling right now, so that another one must not take its place: then the other one is
   * rejected with `OldOrderActivelyBidOn`. Faults as with `isDenied`.
   */
  readonly isActivelyBidOn?: (uid: Hex, call: PolicyContext) => boolean | Promise<boolean>;
}

/** Travels with each question to the host. */
export interface PolicyContext {
  /** Aborted when the answer is not waited for any more. */
  readonly signal: AbortSignal;
}

/** What admission works with. */
export interface AdmissionContext extends AuthenticationContext {
  readonly store: Store;
  /** Waits for an order's turn when many come at once. */
  readonly pace: () => Promise<void>;
  /** How orders are stored: as by `store.orders.insert`, together with those of other callers. */
  readonly insert: OrderStore['insert'];
  readonly clock: Clock;
  readonly limits: Limits;
  readonly ownerLimits: OwnerLimitsTable;
  readonly tokens: TokenPolicy;
  readonly documents: DocumentPolicy;
  readonly eip1271: ContractSignatures;
  readonly host: OrderPolicy;
  /** Whether quotes are given out here, so that an order which names none may still have one. */
  readonly quoting: boolean;
  readonly chain: ChainClient | undefined;
  /** Whom owners allow to move their sell tokens. */
  readonly vaultRelayer: Address;
  readonly remote: Remote;
  /** Told what a rejection does not tell: why the chain or the host could not answer. */
  readonly onFailure: (failure: unknown) => void;
}

/** Orders that are admitted together, by UID. */
export type Batch = ReadonlySet<Hex>;

/** A rule that takes asking: the store, the host or the chain. */
export type RemoteCheck = (
  candidate: VerifiedOrder,
  context: AdmissionContext,
  batch: Batch,
) => Promise<OrderBookError | undefined>;

import type { Observer } from '../listeners.ts';
import type { Clock } from '../ports/clock.ts';
import type { InsertOutcome, OrderInsert, Store } from '../ports/store.ts';
import type { Upstream, UpstreamCall } from '../ports/upstream.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { UpstreamDifference } from '../records/reconcile.ts';
import type { Tasks } from './tasks.ts';
import type { OrderOrigin } from './wire.ts';

/** Whether and how this book sends what is submitted to it. */
export type RelayMode =
  /** A submission waits for the answer of the other book. */
  | 'direct'
  /** A submission is stored, and sent when the other book can be reached. */
  | 'queue';

/** What the parts of the upstream share. */
export interface UpstreamBook extends OrderOrigin {
  readonly upstream: Upstream;
  readonly store: Store;
  readonly tasks: Tasks;
  readonly clock: Clock;
  /** The cache of orders: not each change of a row has a log entry. */
  readonly cache: { forget(uids: readonly Hex[]): void } | undefined;
  /** The contracts whose placements this book reads from the chain. */
  readonly indexer: { readonly onchainOrderContracts: readonly Address[] } | undefined;
  readonly mode: RelayMode;
  /** Called after entries were appended to the log. */
  readonly wake: () => void;
  readonly onFailure: (failure: unknown) => void;
  readonly differs: Observer<UpstreamDifference>;
}

/** The trades of a settlement, in the order of its calldata. */
export interface SettledOrders {
  readonly trades: readonly { readonly orderUid: Hex }[];
  readonly input: Hex;
}

/** What `createUpstream` needs of the book. */
export interface UpstreamFeatureContext
  extends Omit<UpstreamBook, 'upstream' | 'tasks' | 'differs' | 'hasher' | 'mode'> {
  readonly chainId: number;
  readonly upstream: Upstream | undefined;
  readonly relay: RelayMode;
  /** Identifies this process among those on the store. */
  readonly holder: string;
  readonly assertStarted: () => unknown;
  readonly onCall: Observer<UpstreamCall>;
  readonly onDifference: Observer<UpstreamDifference>;
  /** The state of the chain indexer: `undefined` without one. */
  readonly chainState: () => string | undefined;
}

/** Inserts orders, with those of other callers in one step. */
export type Insert = (inserts: readonly OrderInsert[]) => Promise<InsertOutcome[]>;

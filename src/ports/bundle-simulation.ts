import type { Address, Hex } from '../protocol/hex.ts';
import type { ChainCall } from './chain-client.ts';

/** A transaction of a bundle. */
export interface BundleCall {
  readonly from: Address;
  readonly to: Address;
  readonly input: Hex;
  /** Wei. */
  readonly value: bigint;
  /** Gas limit. Absent: the limit of the simulator. */
  readonly gas?: number;
}

/** A log of a simulated transaction. */
export interface SimulatedLog {
  readonly address: Address;
  readonly topics: readonly Hex[];
  readonly data: Hex;
}

/** A movement of a token. The zero address mints and burns. */
export interface TokenTransfer {
  /** Lower case. `0xeeee…ee` is native currency. */
  readonly token: Address;
  readonly from: Address;
  readonly to: Address;
  /** Atoms. */
  readonly amount: bigint;
}

/** A storage slot that a transaction has changed. */
export interface StorageChange {
  readonly address: Address;
  readonly key: Hex;
  readonly original: Hex;
  readonly dirty: Hex;
}

/** A change of the state: a variable, if its type is known, or storage slots. */
export interface StateChange {
  readonly address: Address;
  /** Name and type of the variable; null if they are unknown. */
  readonly soltype: { readonly name: string; readonly type: string } | null;
  /** Value of the variable before and after; null if its type is unknown. */
  readonly original: unknown;
  readonly dirty: unknown;
  readonly raw: readonly StorageChange[];
}

/** The result of one transaction. Changes are those of this transaction alone. */
export interface BundleCallResult {
  readonly success: boolean;
  readonly gasUsed?: number;
  readonly logs: readonly SimulatedLog[];
  /** Without the cost of gas. */
  readonly transfers: readonly TokenTransfer[];
  readonly stateChanges: readonly StateChange[];
  /** Identifies the simulation, if the simulator keeps it. */
  readonly id?: string;
  /** Page of the simulation, if there is one. */
  readonly link?: string;
}

/** The result of a bundle. */
export type BundleOutcome =
  | { readonly status: 'simulated'; readonly results: readonly BundleCallResult[] }
  /** The bundle cannot be executed, for example because a sender lacks the value that it sends. */
  | { readonly status: 'rejected' }
  /** The simulator does not support bundles. */
  | { readonly status: 'unsupported' };

/** Simulates bundles of transactions on one chain. */
export interface BundleSimulator {
  /** Name for observations. */
  readonly name: string;
  /**
   * Simulates transactions in order on the newest block, each with the effects of the earlier ones and a gas price of
   * 0. A transaction that reverts does not end the bundle. Nothing is sent. MUST limit the gas, and MUST reject if the
   * simulator cannot be reached.
   */
  simulate(calls: readonly BundleCall[], call: ChainCall): Promise<BundleOutcome>;
}

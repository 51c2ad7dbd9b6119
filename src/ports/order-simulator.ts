import type { Address, Hex } from '../protocol/hex.ts';
import type { Flashloan } from '../protocol/metadata.ts';
import type { OrderData } from '../protocol/order.ts';
import type { SigningScheme } from '../protocol/signature.ts';
import type { Interactions } from '../protocol/trampoline.ts';
import type { ChainCall } from './chain-client.ts';

/** An order whose settlement is simulated. */
export interface OrderToSimulate {
  readonly order: OrderData;
  readonly owner: Address;
  readonly signingScheme: SigningScheme;
  /** As in the wire format. */
  readonly signature: Hex;
  readonly interactions: Interactions;
  /** The loan whose tokens its receiver has before the interactions. */
  readonly flashloan: Flashloan | undefined;
  /** The amount to execute, in atoms of the token with the fixed amount. */
  readonly executed: bigint;
  readonly settlementContract: Address;
  /** The block after which the order is settled. Absent: the newest. */
  readonly block?: number;
}

/** The transaction that was simulated. */
export interface SimulatedSettlement {
  readonly from: Address;
  readonly to: Address;
  readonly input: Hex;
  /** Gas limit. */
  readonly gas: number;
  /** The values that replace the state, by contract: `{ balance, stateDiff }` as in JSON-RPC. */
  readonly stateOverrides: Readonly<Record<Address, object>>;
}

/** The result of a simulation. */
export type OrderSimulationOutcome =
  /** `error`: the reason of the revert; null if the settlement succeeds. */
  | {
      readonly status: 'simulated';
      readonly block: number;
      readonly error: string | null;
      readonly settlement: SimulatedSettlement;
    }
  /** The node cannot simulate settlements. */
  | { readonly status: 'unsupported' };

/** Simulates the settlements of orders, for operators. */
export interface OrderSimulator {
  /**
   * Simulates a settlement of the order alone at its limit price, with its signature, balance, allowance and hooks. The
   * bought tokens are provided by the simulation. Nothing is sent. MUST limit the gas, and MUST reject if the node
   * cannot be reached.
   */
  simulate(order: OrderToSimulate, call: ChainCall): Promise<OrderSimulationOutcome>;
}

import type { Address, Hex } from '../protocol/hex.ts';
import type { Flashloan } from '../protocol/metadata.ts';
import type { OrderData } from '../protocol/order.ts';
import type { InteractionData, Interactions } from '../protocol/trampoline.ts';
import type { ChainCall } from './chain-client.ts';
import type { JitOrder } from './estimator.ts';

/** A quote to simulate. */
export interface QuoteVerification {
  /** The order that the owner would sign: its fixed amount, and the estimated amount. Native currency is wrapped. */
  readonly order: OrderData;
  readonly uid: Hex;
  readonly owner: Address;
  readonly settlementContract: Address;
  readonly vaultRelayer: Address;
  /** The calls of the settlement contract that convert the sold into the bought tokens. */
  readonly interactions: readonly InteractionData[];
  /** Calls after the hooks of the order, before the transfers. */
  readonly preInteractions: readonly InteractionData[];
  /** Orders of the solver that are settled as well, at their limit prices. They exchange the tokens of the order. */
  readonly jitOrders: readonly JitOrder[];
  /** The account that sends the settlement. `undefined`: any solver. */
  readonly txOrigin: Address | undefined;
  /** The hooks of the order. */
  readonly hooks: Interactions;
  /** The loan whose tokens its receiver has before the hooks. */
  readonly flashloan: Flashloan | undefined;
}

/** The result of a simulation. */
export type VerificationOutcome =
  /** `amount`: atoms of the side that is not fixed, as observed. `gas`: units of the settlement. */
  | { readonly status: 'verified'; readonly amount: bigint; readonly gas: number }
  /** The settlement reverts, or spends tokens that do not come from the order. */
  | { readonly status: 'failed'; readonly reason: string }
  /** The node cannot simulate settlements. */
  | { readonly status: 'unsupported' };

/** Simulates the settlements of quotes. */
export interface QuoteVerifier {
  /**
   * Simulates a settlement of the order on the newest block, with its interactions and hooks. The sold tokens and the
   * allowance of the owner are provided by the simulation. Nothing is sent. MUST limit the gas, and MUST reject if the
   * node cannot be reached.
   */
  verify(quote: QuoteVerification, call: ChainCall): Promise<VerificationOutcome>;
}

import type { Address, Auction, AuctionOrder, Hex } from 'intentbook';

/** A call that the settlement contract makes. */
export interface Interaction {
  readonly target: Address;
  /** Wei. */
  readonly value: bigint;
  readonly callData: Hex;
}

/** The execution of one order. */
export interface Fill {
  readonly order: AuctionOrder;
  /** Atoms of the fixed token of the order: of the sell token for `sell`, of the buy token for `buy`. */
  readonly executed: bigint;
  /** Network fee in atoms of the sell token. Default: 0. */
  readonly fee?: bigint;
}

/** A settlement before it is encoded. */
export interface Solution {
  /** Clearing prices by token: one atom of A is exchanged for `prices[A] / prices[B]` atoms of B. */
  readonly prices: Readonly<Record<Address, bigint>>;
  readonly fills: readonly Fill[];
  /** Calls before any sell token is transferred, in addition to the pre-hooks of the orders. */
  readonly pre?: readonly Interaction[];
  /** Calls between the transfers in and the transfers out, such as swaps. */
  readonly interactions: readonly Interaction[];
  /** Calls after the transfers out, in addition to the post-hooks of the orders. */
  readonly post?: readonly Interaction[];
}

/** The part of an auction that a solver engine reads. */
export type SolvableAuction = Pick<Auction, 'id' | 'block' | 'orders' | 'prices'> & {
  /** Time at which the result is no longer needed, in milliseconds since 1970. Default: unknown. */
  readonly deadline?: number;
};

/** Solver engine: finds solutions for an auction. */
export interface SolverEngine {
  /** Name for observations. */
  readonly name: string;

  /**
   * Finds settlements that respect every limit price.
   *
   * @param signal - Aborted when the result is no longer needed.
   * @returns Solutions that can be executed one after the other. Of the solutions with the same order, the first one
   * that succeeds is executed.
   */
  solve(auction: SolvableAuction, signal: AbortSignal): Promise<readonly Solution[]>;
}

/** A JSON-RPC client of a node. A `PublicClient` of viem is one. */
export interface NodeClient {
  request(args: { readonly method: string; readonly params?: unknown }): Promise<unknown>;
}

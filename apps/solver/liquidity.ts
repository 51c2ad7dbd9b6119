import type { Address } from 'intentbook';
import type { Interaction } from './types.ts';

/** Sources that the part of a batch is traded with that orders do not match among themselves. */
export interface Liquidity {
  /**
   * Reads the state that the trades of an auction need.
   *
   * @param tokens - Every token of the auction. Native currency appears as its wrapped token.
   * @param pairs - Tokens that orders exchange for each other, in any order. Default: each token for each other one.
   */
  read(
    tokens: readonly Address[],
    signal: AbortSignal,
    pairs?: readonly (readonly [Address, Address])[],
  ): Promise<LiquidityState>;
}

/** Liquidity as of one block. Swaps that are taken change it. */
export interface LiquidityState {
  /**
   * Computes the best output of a swap.
   *
   * @returns Atoms of `buyToken`, 0 if there is no route. The average price must not increase with `amountIn`.
   */
  quote(sellToken: Address, buyToken: Address, amountIn: bigint): bigint;

  /**
   * Takes a swap of exactly `amountIn` out of the state.
   *
   * @returns The calls that execute it. The output goes to the settlement contract.
   */
  take(sellToken: Address, buyToken: Address, amountIn: bigint): readonly Interaction[];
}

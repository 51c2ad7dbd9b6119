import type { Address } from '../protocol/hex.ts';

/** A liquidity pool with its yield. */
export interface PoolYield {
  readonly address: Address;
  /** Addresses of the two tokens. Absent: not known. */
  readonly tokens?: readonly [Address, Address];
  /** Name of the protocol: `Uniswap V2`. */
  readonly project: string;
  /** Yield of liquidity providers, in percent per year. */
  readonly apr: number;
  /** Fee of a trade, in percent. */
  readonly fee: number;
  /** Value of the reserves, in US dollars. */
  readonly tvl: number;
  /** Traded volume of a day, in US dollars. */
  readonly volume: number;
}

/** The context of each query. */
export interface PoolCall {
  /** Aborted at the deadline. */
  readonly signal: AbortSignal;
}

/** A source of pools. Sources are queried in order until one has the chain. */
export interface PoolSource {
  /** Name for observations. */
  readonly name: string;
  /**
   * Returns all known pools of a chain, `undefined` if this source does not have the chain. MUST reject if the query
   * fails. Results are cached. A pool that is malformed, or has a number above 10^15, is left out and reported.
   */
  pools(chainId: number, call: PoolCall): readonly PoolYield[] | undefined | Promise<readonly PoolYield[] | undefined>;
}

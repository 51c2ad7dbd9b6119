import type { Address } from '../protocol/hex.ts';

/** A share of a vault (EIP-4626) in its asset. */
export interface VaultShare {
  readonly asset: Address;
  /** Atoms of the asset for one whole share. */
  readonly assets: bigint;
  /** Decimals of the vault. */
  readonly decimals: number;
}

/** Reads vaults, whose shares are priced by their assets. */
export interface VaultReader {
  /**
   * Returns the asset of a vault and the value of one whole share, or `undefined` if the token is no vault. MUST reject
   * if the query fails.
   */
  readShare(token: Address, call: { readonly signal: AbortSignal }): Promise<VaultShare | undefined>;
}

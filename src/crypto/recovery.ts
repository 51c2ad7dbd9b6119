/**
 * What recovers the public key behind an ECDSA signature on secp256k1. Backends differ in speed only: each MUST answer
 * alike for every input, including signatures that belong to no key.
 */
export interface RecoveryBackend {
  /** Which implementation this is, for people and metrics. */
  readonly name: 'native' | 'wasm';

  /**
   * @param digest 32 bytes that were signed.
   * @param rs r and s, 32 bytes each, both within 1 … n−1 and s in the lower half.
   * @param recoveryId the parity of the point that r is taken from.
   * @returns the uncompressed public key, 65 bytes that begin with 4, or `undefined` when no key fits.
   */
  recover(digest: Uint8Array, rs: Uint8Array, recoveryId: 0 | 1): Uint8Array | undefined;
}

/**
 * Recovers the public key of an ECDSA signature on secp256k1. Backends differ in speed only: each MUST return the same
 * result for every input, including signatures without a valid key.
 */
export interface RecoveryBackend {
  /** The name of the implementation, for people and metrics. */
  readonly name: 'system' | 'native' | 'wasm';

  /**
   * Recovers a public key.
   *
   * @param digest - The signed 32 bytes.
   * @param rs - r and s, 32 bytes each, both from 1 to n − 1 and s in the lower half.
   * @param recoveryId - The parity of the point from which r is taken.
   * @returns The uncompressed public key, 65 bytes starting with 4, or `undefined` if no key can be recovered.
   */
  recover(digest: Uint8Array, rs: Uint8Array, recoveryId: 0 | 1): Uint8Array | undefined;
}

import type { RecoveryBackend } from './backend.ts';

/**
 * Loads libsecp256k1 compiled to WebAssembly, which runs on every JavaScript platform. Each call creates a new
 * instance.
 */
export async function wasmRecovery(): Promise<RecoveryBackend> {
  // Loaded here, because most books use a native backend. The package's root would load far more.
  const { instantiateSecp256k1 } = await import('@bitauth/libauth/build/lib/crypto/secp256k1.js');
  const secp256k1 = await instantiateSecp256k1();
  return {
    name: 'wasm',
    recover(digest, rs, recoveryId) {
      const key = secp256k1.recoverPublicKeyUncompressed(rs, recoveryId, digest);
      return typeof key === 'string' ? undefined : key; // the library returns an error message on failure
    },
  };
}

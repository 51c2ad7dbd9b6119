// The package's root has a top-level await, which would break `require('intentbook')`.
import { instantiateSecp256k1 } from '@bitauth/libauth/build/lib/crypto/secp256k1.js';
import type { RecoveryBackend } from './backend.ts';

/**
 * Loads libsecp256k1 compiled to WebAssembly, which runs on every JavaScript platform. Each call creates a new
 * instance.
 */
export async function wasmRecovery(): Promise<RecoveryBackend> {
  const secp256k1 = await instantiateSecp256k1();
  return {
    name: 'wasm',
    recover(digest, rs, recoveryId) {
      const key = secp256k1.recoverPublicKeyUncompressed(rs, recoveryId, digest);
      return typeof key === 'string' ? undefined : key; // the library returns an error message on failure
    },
  };
}

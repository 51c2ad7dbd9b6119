// The package's root has a top-level await, which would break `require('intentbook')`.
import { instantiateSecp256k1 } from '@bitauth/libauth/build/lib/crypto/secp256k1.js';
import type { RecoveryBackend } from './recovery.ts';

/** libsecp256k1, compiled to WebAssembly: runs wherever JavaScript does. Instantiated anew on each call. */
export async function wasmRecovery(): Promise<RecoveryBackend> {
  const secp256k1 = await instantiateSecp256k1();
  return {
    name: 'wasm',
    recover(digest, rs, recoveryId) {
      const key = secp256k1.recoverPublicKeyUncompressed(rs, recoveryId, digest);
      return typeof key === 'string' ? undefined : key; // the library answers a failure as its message
    },
  };
}

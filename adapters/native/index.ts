import type { RecoveryBackend } from 'intentbook';
import { importPackage } from '#internal';

export { systemRecovery } from './system.ts';

/** Messages of the bindings for a signature without a valid public key. Any other error is a failure. */
const NO_KEY_MESSAGES: readonly string[] = ['Signature could not be parsed', 'Public key could not be recover'];

/**
 * Creates a recovery backend on libsecp256k1, compiled for this platform by the package secp256k1, which the host
 * installs. Only its compiled implementation is loaded. Verifiers and books select this backend automatically if the
 * package is installed; call this function to require it.
 *
 * @example
 * const book = createOrderBook({ recovery: await nativeRecovery(), ... });
 *
 * @throws Error if the package is not installed or not compiled for this platform, with the `cause`.
 */
export async function nativeRecovery(): Promise<RecoveryBackend> {
  const bindings = await loadBindings();
  return {
    name: 'native',
    recover(digest, rs, recoveryId) {
      try {
        return bindings.ecdsaRecover(rs, recoveryId, digest, false);
      } catch (error) {
        if (error instanceof Error && NO_KEY_MESSAGES.includes(error.message)) return undefined;
        throw error;
      }
    },
  };
}

async function loadBindings() {
  // The root module of the package would silently fall back to JavaScript.
  return (await importPackage('native recovery', 'secp256k1', () => import('secp256k1/bindings.js'))).default;
}

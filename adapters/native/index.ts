import type { RecoveryBackend } from 'intentbook';

/** What the bindings say of a signature that belongs to no key. Anything else they throw is a failure. */
const NO_KEY: readonly string[] = ['Signature could not be parsed', 'Public key could not be recover'];

/**
 * libsecp256k1 compiled for this machine, by the package secp256k1, which the host installs beside intentbook. Of its
 * two implementations only the compiled one is ever loaded. A verifier and a book use it on their own where it is
 * installed; this is for hosts that want to be sure.
 *
 * @example
 * const book = createOrderBook({ recovery: await nativeRecovery(), ... });
 *
 * @throws Error when the package is not installed or not compiled for this platform; `cause` tells.
 */
export async function nativeRecovery(): Promise<RecoveryBackend> {
  const bindings = await load();
  return {
    name: 'native',
    recover(digest, rs, recoveryId) {
      try {
        return bindings.ecdsaRecover(rs, recoveryId, digest, false);
      } catch (error) {
        if (error instanceof Error && NO_KEY.includes(error.message)) return undefined;
        throw error;
      }
    },
  };
}

async function load() {
  try {
    // The package's root would fall back to JavaScript in silence.
    return (await import('secp256k1/bindings.js')).default;
  } catch (cause) {
    throw new Error('native recovery needs the package secp256k1, compiled; install it beside intentbook', { cause });
  }
}

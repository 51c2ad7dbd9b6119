import { wasmRecovery } from './wasm.ts';

/**
 * Recovers the public key of an ECDSA signature on secp256k1. Backends differ in speed only: each MUST return the same
 * result for every input, including signatures without a valid key.
 */
export interface RecoveryBackend {
  /** The name of the implementation, for people and metrics. */
  readonly name: 'native' | 'wasm';

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

/** A backend, or the name of one to load. */
export type RecoveryBackendOption = RecoveryBackend | RecoveryBackend['name'];

/**
 * Loads the selected backend. Default: `native` if the host has installed its package, otherwise `wasm`.
 *
 * @throws Error if the backend is given by name and cannot be loaded; TypeError if the name is unknown.
 */
export async function selectRecoveryBackend(choice?: RecoveryBackendOption): Promise<RecoveryBackend> {
  switch (choice) {
    case undefined:
      return nativeRecovery().catch(() => wasmRecovery());
    case 'native':
      return nativeRecovery();
    case 'wasm':
      return wasmRecovery();
    default:
      if (typeof choice.recover !== 'function') {
        throw new TypeError(
          `the recovery backend must be "native", "wasm" or a backend, got ${JSON.stringify(choice)}`,
        );
      }
      return choice;
  }
}

/**
 * The package's entry that loads the native library. It is a variable, because a bundler would follow a literal import.
 * The compiled addon may not exist, and a browser cannot use it.
 */
const NATIVE_ENTRY: string = 'intentbook/native';

async function nativeRecovery(): Promise<RecoveryBackend> {
  const entry: { nativeRecovery(): Promise<RecoveryBackend> } = await import(
    /* @vite-ignore */ /* webpackIgnore: true */ NATIVE_ENTRY
  );
  return entry.nativeRecovery();
}

import { wasmRecovery } from './wasm.ts';

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

/** A backend, or the name of one to load. */
export type RecoveryBackendOption = RecoveryBackend | RecoveryBackend['name'];

/**
 * The chosen backend. Without a choice the fastest that is there: `native` where the host has installed its package,
 * `wasm` otherwise.
 *
 * @throws Error when the backend was asked for by name and cannot be loaded; TypeError when there is none of that name.
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
      if (typeof choice.recover !== 'function') throw new TypeError(`no recovery backend ${JSON.stringify(choice)}`);
      return choice;
  }
}

/**
 * The package's own entry that binds the native library. It is named at run time, not in the import: a bundler would
 * follow a literal into a compiled addon, for which there may be no file and in a browser no use.
 */
const NATIVE_ENTRY: string = 'intentbook/native';

async function nativeRecovery(): Promise<RecoveryBackend> {
  const entry: { nativeRecovery(): Promise<RecoveryBackend> } = await import(
    /* @vite-ignore */ /* webpackIgnore: true */ NATIVE_ENTRY
  );
  return entry.nativeRecovery();
}

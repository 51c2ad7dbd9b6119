import type { RecoveryBackend } from './backend.ts';
import { wasmRecovery } from './wasm.ts';

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

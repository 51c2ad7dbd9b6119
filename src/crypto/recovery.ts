import type { RecoveryBackend } from './backend.ts';
import { wasmRecovery } from './wasm.ts';

/** A backend, or the name of one to load. */
export type RecoveryBackendOption = RecoveryBackend | RecoveryBackend['name'];

/**
 * Loads the selected backend. Default: the first that loads of `system`, `native` and `wasm`.
 *
 * @throws Error if the backend is given by name and cannot be loaded; TypeError if the name is unknown.
 */
export async function selectRecoveryBackend(choice?: RecoveryBackendOption): Promise<RecoveryBackend> {
  switch (choice) {
    case undefined:
      return loadNative('system')
        .catch(() => loadNative('native'))
        .catch(() => wasmRecovery());
    case 'system':
    case 'native':
      return loadNative(choice);
    case 'wasm':
      return wasmRecovery();
    default:
      if (typeof choice.recover !== 'function') {
        throw new TypeError(
          `the recovery backend must be "system", "native", "wasm" or a backend, got ${JSON.stringify(choice)}`,
        );
      }
      return choice;
  }
}

/**
 * The package's entry that loads native libraries. It is a variable, because a bundler would follow a literal import.
 * The compiled addon may not exist, and a browser cannot use it.
 */
const NATIVE_ENTRY: string = 'intentbook/native';

async function loadNative(name: 'system' | 'native'): Promise<RecoveryBackend> {
  const entry: Record<`${typeof name}Recovery`, () => Promise<RecoveryBackend>> = await import(
    /* @vite-ignore */ /* webpackIgnore: true */ NATIVE_ENTRY
  );
  return entry[`${name}Recovery`]();
}

import { workerData } from 'node:worker_threads';
import type { RecoveryBackend } from 'intentbook';
import { accelerateKeccak, loadRecovery, recoverPacked } from '#internal';

const { backend: choice } = workerData as { readonly backend?: RecoveryBackend['name'] }; // set by recoveryPool

const recovery = loadRecovery().then(({ selectRecoveryBackend }) => selectRecoveryBackend(choice));
const ready = Promise.all([recovery, accelerateKeccak()]);

/**
 * Handles a message of the pool. Not a default export: Node 20 crashes if a thread ends while its default is imported.
 */
export async function recover(signatures: Uint8Array): Promise<Uint8Array> {
  const [backend] = await ready;
  return recoverPacked(signatures, backend);
}

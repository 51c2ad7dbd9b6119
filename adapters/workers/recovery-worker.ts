import { workerData } from 'node:worker_threads';
import type { RecoveryBackend } from 'intentbook';
import { accelerateKeccak, recoverPacked, selectRecoveryBackend } from '#internal';

const { backend: choice } = workerData as { readonly backend?: RecoveryBackend['name'] }; // from the pool beside

const ready = Promise.all([selectRecoveryBackend(choice), accelerateKeccak()]);

/** What a thread does with a message. No default export: Node 20 dies when a thread is ended while it is asked for one. */
export async function recover(signatures: Uint8Array): Promise<Uint8Array> {
  const [backend] = await ready;
  return recoverPacked(signatures, backend);
}

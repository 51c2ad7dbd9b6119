import { availableParallelism } from 'node:os';
import type { RecoveryBackend, RecoveryPool } from 'intentbook';
import { assertKnownOptions, importPackage, requireInteger } from '#internal';

/** Options of the recovery pool. */
export interface RecoveryPoolOptions {
  /** Number of threads. Default: the number of processors. */
  readonly threads?: number;
  /** Recovery backend. Default: the first that loads of `system`, `native` and `wasm`. */
  readonly backend?: RecoveryBackend['name'];
}

/** Recovery pool with a `close` method, which the caller must call. */
export interface ClosablePool extends RecoveryPool, AsyncDisposable {
  /** Ends the threads. Running recoveries are aborted. */
  close(): Promise<void>;
}

/** Minimum number of signatures for which two threads are faster than one, including the messages. */
const MIN_BATCH = 64;

/**
 * Creates a pool of threads that recover the signers of many orders: pass it to `createOrderBook` for `submitMany`, or
 * to `createVerifier` for `recoverMany`. Requires the package piscina. Idle threads do not keep the process running.
 *
 * @example
 * await using pool = await recoveryPool();
 * const book = createOrderBook({ recoveryPool: pool, ... });
 *
 * @throws Error if piscina is not installed, or if no thread can be started with the selected backend.
 */
export async function recoveryPool(options: RecoveryPoolOptions = {}): Promise<ClosablePool> {
  assertKnownOptions('recoveryPool', options, ['threads', 'backend']);
  const { threads = availableParallelism(), backend } = options;
  requireInteger('recoveryPool: `threads`', threads);
  const { Piscina } = await importPackage('recoveryPool', 'piscina', () => import('piscina'));
  const pool = new Piscina<Uint8Array, Uint8Array>({
    filename: new URL('./recovery-worker.js', import.meta.url).href,
    name: 'recover',
    workerData: { backend },
    execArgv: [], // some options of a process, such as `--input-type`, are refused in a thread
    minThreads: threads,
    maxThreads: threads,
  });
  const close = () => pool.destroy();
  // An empty task for each thread reports start failures here. No thread is ended while others are still loading.
  const starts = await Promise.allSettled(Array.from({ length: threads }, () => pool.run(new Uint8Array(0))));
  const failed = starts.find((start) => start.status === 'rejected');
  if (failed !== undefined) {
    await close();
    throw new Error('recoveryPool: the threads cannot be started', { cause: failed.reason });
  }
  return {
    threads,
    smallest: MIN_BATCH,
    // The buffer of a batch is not shared.
    recover: (signatures) => pool.run(signatures, { transferList: [signatures.buffer as ArrayBuffer] }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

import { availableParallelism } from 'node:os';
import type { RecoveryBackend, RecoveryPool } from 'intentbook';
import { assertKnownOptions } from '#internal';

/** How many threads recover signers, and by what. */
export interface RecoveryPoolOptions {
  /** How many threads recover. Default: one for each processor. */
  readonly threads?: number;
  /** Which implementation they use. Default: `native` where the package secp256k1 is installed, `wasm` otherwise. */
  readonly backend?: RecoveryBackend['name'];
}

/** A pool that somebody has to close. */
export interface ClosablePool extends RecoveryPool, AsyncDisposable {
  /** Ends the threads. What they are at is given up. */
  close(): Promise<void>;
}

/** From here on two threads are sooner done than one, messages included. */
const SMALLEST = 64;

/**
 * Threads that recover the signers of many orders at once: pass it to `createOrderBook` for `submitMany`, or to
 * `createVerifier` for `recoverMany`. Needs the package piscina. Threads that have nothing to do keep no process alive.
 *
 * @example
 * await using pool = await recoveryPool();
 * const book = createOrderBook({ recoveryPool: pool, ... });
 *
 * @throws Error when piscina is not installed, or no thread can be started with the backend asked for.
 */
export async function recoveryPool(options: RecoveryPoolOptions = {}): Promise<ClosablePool> {
  assertKnownOptions('recoveryPool', options, ['threads', 'backend']);
  const { threads = availableParallelism(), backend } = options;
  if (!Number.isSafeInteger(threads) || threads < 1) {
    throw new TypeError('recoveryPool: `threads` must be a whole number above 0');
  }
  const { Piscina } = await import('piscina').catch((cause: unknown) => {
    throw new Error('recoveryPool needs the package piscina; install it beside intentbook', { cause });
  });
  const pool = new Piscina<Uint8Array, Uint8Array>({
    filename: new URL('./recovery-worker.js', import.meta.url).href,
    name: 'recover',
    workerData: { backend },
    minThreads: threads,
    maxThreads: threads,
  });
  const close = () => pool.destroy();
  // Each thread answers to nothing, so that one that cannot start says so now. None is ended while others still load.
  const starts = await Promise.allSettled(Array.from({ length: threads }, () => pool.run(new Uint8Array(0))));
  const failed = starts.find((start) => start.status === 'rejected');
  if (failed !== undefined) {
    await close();
    throw new Error('recoveryPool: the threads cannot be started', { cause: failed.reason });
  }
  return {
    threads,
    smallest: SMALLEST,
    recover: (signatures) => pool.run(signatures, { transferList: [signatures.buffer] }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

import { Worker } from 'node:worker_threads';
import type { StoreErrorCode } from 'intentbook';
import { StoreError, systemClock } from 'intentbook';
import type { SqliteFile } from './connection.ts';
import type { SqliteWriter } from './store-with-reader.ts';
import type { WriteCall, WriteOperations, WriteResult, WriteThreadData } from './write-operations.ts';
import { createWriteState, EPOCH, LEASE_END } from './write-operations.ts';

interface Pending {
  readonly name: keyof WriteOperations;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Returns the built file that a thread runs. `undefined` in a bundle without `import.meta`, which does not contain it.
 */
export function getWorkerFile(): URL | undefined {
  const { url } = import.meta;
  return url ? new URL('./sqlite-worker.js', url) : undefined;
}

/**
 * Starts a thread with its own connection, which runs operations in the order of their calls. They reject with the
 * error of the operation, with `OutcomeUnknown` if the thread ends before the result arrives, and with `Unavailable` if
 * it has ended. An idle thread does not keep the process running.
 *
 * @throws StoreError `Unavailable` if the file of the thread is not known.
 */
export function startWriteThread(source: SqliteFile, file: URL | undefined): SqliteWriter {
  if (file === undefined) {
    throw new StoreError(
      'Unavailable',
      'the write thread of the SQLite store cannot start: the bundle of the application has no import.meta.url',
    );
  }
  const state = createWriteState();
  const workerData: WriteThreadData = { source, state };
  // Without the options of the process: some, such as `--input-type`, are refused in a thread.
  const worker = new Worker(file, { workerData, name: 'intentbook sqlite', execArgv: [] });
  const pending = new Map<number, Pending>();
  let calls = 0;
  let seen: number | undefined;
  let ended: string | undefined;
  worker.unref();

  function settle(result: WriteResult): void {
    const call = pending.get(result.id);
    pending.delete(result.id);
    if (pending.size === 0) worker.unref();
    if ('error' in result) call?.reject(toError(result.error));
    else call?.resolve(result.value);
  }

  function fail(reason: string, cause?: unknown): void {
    ended ??= reason;
    const failed = [...pending.values()];
    pending.clear();
    for (const { name, reject } of failed) reject(createEndError(name, reason, cause));
  }

  worker.on('message', settle);
  worker.on('messageerror', (cause) => fail('a message cannot be read', cause));
  worker.on('error', (cause) => fail(cause instanceof Error ? cause.message : String(cause), cause));
  worker.on('exit', (code) => fail(`exit code ${code}`));

  function call(name: keyof WriteOperations, ...parameters: readonly unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (ended !== undefined) {
        throw new StoreError('Unavailable', `the write thread of the SQLite store has ended: ${ended}`);
      }
      const message: WriteCall = { id: calls++, name, parameters };
      worker.postMessage(message);
      if (pending.size === 0) worker.ref();
      pending.set(message.id, { name, resolve, reject });
    });
  }

  return {
    call: call as SqliteWriter['call'], // the thread runs the operation of this name
    isUnchanged() {
      const before = seen;
      seen = Atomics.load(state, EPOCH);
      return seen === before && seen % 2 === 0 && systemClock.now() < Atomics.load(state, LEASE_END) * 1000;
    },
    async end() {
      ended ??= 'the store was closed';
      await worker.terminate();
    },
  };
}

function createEndError(name: keyof WriteOperations, reason: string, cause: unknown): StoreError {
  if (name === 'open') {
    return new StoreError('Unavailable', `the write thread of the SQLite store cannot start: ${reason}`, { cause });
  }
  const text = `the write thread of the SQLite store ended during a write: ${reason}; the write may be stored or not`;
  return new StoreError('OutcomeUnknown', text, { cause });
}

function toError({ code, message, cause }: Extract<WriteResult, { error: unknown }>['error']): Error {
  // The codes of a `StoreError` of the thread.
  return code === undefined
    ? new Error(message, { cause })
    : new StoreError(code as StoreErrorCode, message, { cause });
}

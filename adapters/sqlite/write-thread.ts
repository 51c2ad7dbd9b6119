import { Worker } from 'node:worker_threads';
import { StoreError, type StoreErrorCode, systemClock } from 'intentbook';
import type { SqliteFile } from './connection.ts';
import type { SqliteWriter } from './store-with-reader.ts';
import type { WriteMessage, WriteOperations, WriteResult, WriteStart } from './write-operations.ts';
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

interface WriteThread {
  /** Adds a store. @returns the number of the store. */
  add(message: Omit<WriteStart, 'store'>): number;
  call(store: number, name: keyof WriteOperations, parameters: readonly unknown[]): Promise<unknown>;
  /** Removes a store. The last one ends the thread. */
  remove(store: number): Promise<void>;
}

/** Threads by their file. All stores of the process share one, since each costs 20 MiB. */
const threads = new Map<string, WriteThread>();

/**
 * Starts a store in the write thread of the process, with its own connection. Its operations run in the order of their
 * calls. They reject with the error of the operation, with `OutcomeUnknown` if the thread ends before the result
 * arrives, and with `WriterLost` if it has ended. An idle thread does not keep the process running.
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
  const thread = threads.get(file.href) ?? createThread(file);
  const state = createWriteState();
  const store = thread.add({ source, state });
  const call = (name: keyof WriteOperations, ...parameters: readonly unknown[]) => thread.call(store, name, parameters);
  let seen: number | undefined;
  return {
    call: call as SqliteWriter['call'], // the thread runs the operation of this name
    isUnchanged() {
      const before = seen;
      seen = Atomics.load(state, EPOCH);
      return seen === before && seen % 2 === 0 && systemClock.now() < Atomics.load(state, LEASE_END) * 1000;
    },
    end: () => thread.remove(store),
  };
}

function createThread(file: URL): WriteThread {
  // Without the options of the process: some, such as `--input-type`, are refused in a thread.
  const worker = new Worker(file, { name: 'intentbook sqlite', execArgv: [] });
  const pending = new Map<number, Pending>();
  const stores = new Set<number>();
  let created = 0;
  let calls = 0;
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
    if (threads.get(file.href) === thread) threads.delete(file.href);
    const failed = [...pending.values()];
    pending.clear();
    for (const { name, reject } of failed) reject(createEndError(name, reason, cause));
  }

  worker.on('message', settle);
  worker.on('messageerror', (cause) => fail('a message cannot be read', cause));
  worker.on('error', (cause) => fail(cause instanceof Error ? cause.message : String(cause), cause));
  worker.on('exit', (code) => fail(`exit code ${code}`));

  const post = (message: WriteMessage) => worker.postMessage(message);

  const thread: WriteThread = {
    add(message) {
      const store = created++;
      stores.add(store);
      post({ store, ...message });
      return store;
    },
    call: (store, name, parameters) =>
      new Promise((resolve, reject) => {
        if (ended !== undefined) {
          throw new StoreError('WriterLost', `the write thread of the SQLite store has ended: ${ended}; open it again`);
        }
        const id = calls++;
        post({ store, id, name, parameters });
        if (pending.size === 0) worker.ref();
        pending.set(id, { name, resolve, reject });
      }),
    async remove(store) {
      stores.delete(store);
      if (stores.size > 0) return post({ store, end: true });
      ended ??= 'the store was closed';
      if (threads.get(file.href) === thread) threads.delete(file.href);
      await worker.terminate();
    },
  };
  threads.set(file.href, thread);
  return thread;
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

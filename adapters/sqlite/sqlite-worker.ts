import { parentPort } from 'node:worker_threads';
import { StoreError } from 'intentbook';
import type { SqliteFile } from './connection.ts';
import { MIGRATIONS } from './schema.ts';
import { createSqliteStore } from './store.ts';
import type { WriteCall, WriteMessage, WriteResult, WriteStart } from './write-operations.ts';
import { createWriteOperations, EPOCH, LEASE_END } from './write-operations.ts';

interface ThreadStore {
  readonly calls: WriteCall[];
  run(call: WriteCall): Promise<WriteResult>;
}

const stores = new Map<number, ThreadStore>();
let isScheduled = false;

parentPort?.on('message', (message: WriteMessage) => {
  if ('source' in message) stores.set(message.store, createStore(message));
  else if ('end' in message) stores.delete(message.store);
  else {
    stores.get(message.store)?.calls.push(message);
    schedule();
  }
});

/** Timers run between two calls, so that each store renews its lease although the file of another one is locked. */
function schedule(): void {
  if (isScheduled) return;
  isScheduled = true;
  setImmediate(runNext);
}

/** Runs one call of each store, so that none waits for the queue of another one. */
function runNext(): void {
  isScheduled = false;
  for (const { calls, run } of stores.values()) {
    const call = calls.shift();
    if (call !== undefined) void run(call).then((result) => parentPort?.postMessage(result));
    if (calls.length > 0) schedule();
  }
}

function createStore({ source, state }: WriteStart): ThreadStore {
  const store = createSqliteStore(source as SqliteFile, MIGRATIONS, (expires) => {
    Atomics.store(state, LEASE_END, Math.floor(expires / 1000));
  });
  const operations = createWriteOperations(store);

  async function run({ id, name, parameters }: WriteCall): Promise<WriteResult> {
    // Typed by the caller.
    const operation = operations[name] as (...parameters: readonly unknown[]) => Promise<unknown>;
    Atomics.add(state, EPOCH, 1);
    // The operation has taken effect when it returns its promise; `open` and `close` write nothing to the log.
    const result = operation(...parameters);
    Atomics.add(state, EPOCH, 1);
    try {
      return { id, value: await result };
    } catch (error) {
      return { id, error: describe(error) };
    }
  }

  return { calls: [], run };
}

function describe(error: unknown) {
  const { message, cause } = error instanceof Error ? error : new Error(String(error));
  // The driver's errors are not native ones, so a message between threads would contain only their code.
  const native = cause instanceof Error ? new Error(cause.message) : cause;
  return { message, cause: native, ...(error instanceof StoreError ? { code: error.code } : {}) };
}

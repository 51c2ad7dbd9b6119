import { parentPort, workerData } from 'node:worker_threads';
import { StoreError } from 'intentbook';
import type { SqliteFile } from './connection.ts';
import { MIGRATIONS } from './schema.ts';
import { createSqliteStore } from './store.ts';
import type { WriteCall, WriteResult, WriteThreadData } from './write-operations.ts';
import { createWriteOperations, EPOCH, LEASE_END } from './write-operations.ts';

const { source, state } = workerData as WriteThreadData; // set by `startWriteThread`
const store = createSqliteStore(source as SqliteFile, MIGRATIONS, (expires) => {
  Atomics.store(state, LEASE_END, Math.floor(expires / 1000));
});
const operations = createWriteOperations(store);

parentPort?.on('message', async (call: WriteCall) => {
  parentPort?.postMessage(await run(call));
});

async function run({ id, name, parameters }: WriteCall): Promise<WriteResult> {
  const operation = operations[name] as (...parameters: readonly unknown[]) => Promise<unknown>; // typed by the caller
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

function describe(error: unknown) {
  const { message, cause } = error instanceof Error ? error : new Error(String(error));
  // The driver's errors are not native ones, so a message between threads would contain only their code.
  const native = cause instanceof Error ? new Error(cause.message) : cause;
  return { message, cause: native, ...(error instanceof StoreError ? { code: error.code } : {}) };
}

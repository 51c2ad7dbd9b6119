import type { Store } from 'intentbook';
import type { SqliteFile } from './connection.ts';
import { createStoreWithReader } from './store-with-reader.ts';
import { getWorkerFile, startWriteThread } from './write-thread.ts';

/** Creates a store that writes in a thread, so that no commit blocks the event loop. */
export function createThreadedStore(source: SqliteFile, file = getWorkerFile()): Store {
  return createStoreWithReader(source, () => startWriteThread(source, file));
}

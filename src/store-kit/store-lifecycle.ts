import { StoreError } from '../ports/store.ts';

/** The state of a store between `open` and `close`, for store authors. */
export interface StoreLifecycle<Parts> {
  /** Returns the parts of the open store. Throws `Closed` otherwise. */
  parts(): Parts;
  /** Runs an operation and tracks it, so that `close` waits for it. Rejects with `Closed`. */
  run<T>(operation: (parts: Parts) => Promise<T>): Promise<T>;
  /** Opens the store. Rejects with `WriterActive` while it is open or opening. */
  open(start: () => Promise<Parts>): Promise<void>;
  /** Waits for a running `open` and for running operations, then closes the parts. A second call does nothing. */
  close(): Promise<void>;
}

/**
 * Creates the lifecycle of a store.
 *
 * @param name - For messages: `PostgreSQL store`.
 * @param inUse - The message when the store is opened a second time.
 */
export function createStoreLifecycle<Parts extends { close(): void | Promise<void> }>(
  name: string,
  inUse: string,
): StoreLifecycle<Parts> {
  let opened: Parts | undefined;
  let opening: Promise<void> | undefined;
  const running = new Set<Promise<unknown>>();

  function parts(): Parts {
    if (opened === undefined) throw new StoreError('Closed', `the ${name} is not open`);
    return opened;
  }

  return {
    parts,
    async run(operation) {
      const result = operation(parts());
      running.add(result);
      try {
        return await result;
      } finally {
        running.delete(result);
      }
    },
    async open(start) {
      if (opened !== undefined || opening !== undefined) throw new StoreError('WriterActive', inUse);
      opening = start().then((started) => {
        opened = started;
      });
      try {
        await opening;
      } finally {
        opening = undefined;
      }
    },
    async close() {
      await opening?.catch(() => {}); // the caller of `open` receives the error
      const closing = opened;
      opened = undefined;
      await Promise.allSettled(running);
      await closing?.close();
    },
  };
}

import { StoreError } from '../ports/store.ts';

/** The life of a store between opening and closing, for whoever writes one. */
export interface StoreLifecycle<Parts> {
  /** What the store is made of while it is open. Throws `Closed` otherwise. */
  parts(): Parts;
  /** Runs a verb, and keeps it in mind until it is done, so that closing can wait for it. Rejects with `Closed`. */
  run<T>(verb: (parts: Parts) => Promise<T>): Promise<T>;
  /** Opens it, once. Rejects with `WriterActive` while it is open or being opened. */
  open(start: () => Promise<Parts>): Promise<void>;
  /** Waits for what is being opened and for verbs that run, then closes the parts. A second call does nothing. */
  close(): Promise<void>;
}

/**
 * Keeps track of whether a store is open.
 *
 * @param name for messages: `PostgreSQL store`.
 * @param inUse what is said to who opens it a second time.
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
    async run(verb) {
      const result = verb(parts());
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
      await opening?.catch(() => {}); // told to whoever opens
      const closing = opened;
      opened = undefined;
      await Promise.allSettled(running);
      await closing?.close();
    },
  };
}

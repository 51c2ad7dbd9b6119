import type { Cancel, Store, StoreContext } from 'intentbook';
import type { SqliteHandle } from './connection.ts';
import { MIGRATIONS } from './schema.ts';
import { createSqliteStore } from './store.ts';
import { createStoreWithReader, type SqliteWriter } from './store-with-reader.ts';
import { createWriteOperations, type WriteOperations } from './write-operations.ts';

/** Milliseconds between two attempts to notice that the host has committed its transaction. */
const COMMIT_POLL_INTERVAL = 20;

/**
 * Creates a store on a handle of the host. It writes with the handle, so that an insert can join a transaction of the
 * host, and reads with a second connection, because the handle reads its own uncommitted rows.
 */
export function createHandleStore(source: SqliteHandle): Store {
  const { database } = source;
  const hints = new Set<() => void>();

  function createWriter({ clock }: StoreContext): SqliteWriter {
    const store = createSqliteStore(source, MIGRATIONS);
    const operations: WriteOperations = {
      ...createWriteOperations(store),
      open: (domain) => store.open({ domain, clock }),
    };
    let cancel: Cancel | undefined;

    function poll(): void {
      // Called during an open transaction too, because it may be another one than before.
      for (const hint of [...hints]) hint();
      cancel = undefined;
      if (database.open && database.inTransaction) waitForCommit();
    }

    /** The driver does not report the commit of a transaction. */
    function waitForCommit(): void {
      cancel ??= clock.after(COMMIT_POLL_INTERVAL, poll);
    }

    return {
      call: ((name, ...parameters) =>
        (operations[name] as (...given: unknown[]) => unknown)(...parameters)) as SqliteWriter['call'], // of this name
      isUnchanged: () => false, // the host can write to the tables
      onJoined: waitForCommit,
      async end() {
        cancel?.();
      },
    };
  }

  return createStoreWithReader(source, createWriter, (hint) => {
    hints.add(hint);
    return () => void hints.delete(hint);
  });
}

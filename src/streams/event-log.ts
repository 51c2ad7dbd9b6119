import type { Store, StoredEvent } from '../ports/store.ts';

/** The event log of a book. */
export interface EventLog {
  /** Returns the id of the newest entry. 0 for an empty log. */
  last(): Promise<number>;
  /** Returns at most `limit` entries with an id above `id`, in the order of their ids. */
  after(id: number, limit: number): Promise<StoredEvent[]>;
  /** Returns the id up to which entries have been deleted by retention; 0 if none has been. */
  prunedThrough(): Promise<number>;
  /** Calls `onEntries` when the log may have new entries; calls may be repeated. Returns a function that removes it. */
  watch(onEntries: () => void): () => void;
}

/** Creates the log of a book. `assertStarted` throws a `StoreError` `Closed` unless the book is started. */
export function createEventLog(
  { events, retention }: Pick<Store, 'events' | 'retention'>,
  watch: EventLog['watch'],
  assertStarted: () => void,
): EventLog {
  return {
    async last() {
      assertStarted();
      return events.last();
    },
    async after(id, limit) {
      assertStarted();
      return events.after(id, limit);
    },
    async prunedThrough() {
      assertStarted();
      return retention.prunedThrough();
    },
    watch,
  };
}

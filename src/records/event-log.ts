import type { StoredEvent } from '../ports/store.ts';

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

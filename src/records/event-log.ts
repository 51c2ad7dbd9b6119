import type { ChainCause } from '../ports/order-events.ts';
import type { StoredEvent } from '../ports/store.ts';
import { type Hex, UNKNOWN_HASH } from '../protocol/hex.ts';

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

/** Returns the transaction of an entry; `undefined` off chain, and if only another book has reported the change. */
export function getTransactionHash({ cause }: { readonly cause?: ChainCause }): Hex | undefined {
  const hash = cause?.position.transactionHash;
  return hash === UNKNOWN_HASH ? undefined : hash;
}

/**
 * Returns whether entries between a position and a page of a log are missing, because retention has deleted them or the
 * log has begun a new log epoch. Ids have no holes otherwise.
 *
 * @param after - The position from which the page was read.
 */
export function isAfterGap(after: number, page: readonly { readonly id: number }[]): boolean {
  const [first] = page;
  return first !== undefined && first.id > after + 1;
}

/**
 * Returns the id of the first entry after the last hole of a page, or undefined if the page has no hole.
 *
 * @param after - The position from which the page was read.
 */
export function findGapEnd(after: number, page: readonly { readonly id: number }[]): number | undefined {
  const last = page.at(-1);
  if (last === undefined || last.id === after + page.length) return undefined;
  // Ids increase, so the entries after the last hole are at the distances that the end of the page determines.
  const found = page.findLastIndex(({ id }, i) => id !== last.id - (page.length - 1 - i));
  return page[found + 1]?.id;
}

import { type Store, type StoreContext, systemClock } from 'intentbook';

/** Returns the operations that run in the write thread: those that commit, `open` and `close`. */
export const createWriteOperations = (store: Store) => ({
  // The clock of a host cannot be passed to a thread. The thread uses it for the writer lease only.
  open: (domain: StoreContext['domain']) => store.open({ domain, clock: systemClock }),
  close: store.close,
  check: store.check,
  insertOrders: store.orders.insert,
  cancelOrders: store.orders.cancel,
  addQuote: store.orders.addQuote,
  expireOrders: store.orders.expire,
  reinstateOrders: store.orders.reinstate,
  pruneOrders: store.orders.prune,
  putDocument: store.appData.put,
  insertQuote: store.quotes.insert,
  pruneQuotes: store.quotes.prune,
  applyEvents: store.chain.apply,
  adoptEvents: store.chain.adopt,
  writeTasks: store.tasks.write,
  rollBackEvents: store.chain.rollback,
  pruneEvents: store.retention.pruneEvents,
  pruneChainEvents: store.retention.pruneChainEvents,
  pruneDocuments: store.retention.pruneDocuments,
  insertAuction: store.auctions.insert,
  recordCompetition: store.auctions.record,
});

/** The operations of the write thread by name. */
export type WriteOperations = ReturnType<typeof createWriteOperations>;

/** A message to the write thread. The thread has several stores, with a number each. */
export type WriteMessage = WriteStart | WriteCall | WriteEnd;

/** Creates a store in the thread. */
export interface WriteStart {
  readonly store: number;
  readonly source: unknown;
  /** See {@link createWriteState}. */
  readonly state: Int32Array;
}

/** Removes a store that is closed. */
export interface WriteEnd {
  readonly store: number;
  readonly end: true;
}

export interface WriteCall {
  readonly store: number;
  readonly id: number;
  readonly name: keyof WriteOperations;
  readonly parameters: readonly unknown[];
}

/** The result of a call. Errors lose their class on the way between threads. */
export type WriteResult =
  | { readonly id: number; readonly value: unknown }
  | {
      readonly id: number;
      readonly error: { readonly code?: string; readonly message: string; readonly cause?: unknown };
    };

/** Positions in the state. */
export const EPOCH = 0;
export const LEASE_END = 1;

/**
 * Creates the memory that a store of the write thread shares with the thread of the book. It contains the epoch, which
 * is odd while an operation runs and different after it, so that a write is noticed before its result arrives. It also
 * contains the second (since 1970) until which no other process can become the writer.
 */
export function createWriteState(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
}

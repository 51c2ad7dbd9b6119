import type { Store, StoreContext } from 'intentbook';
import { systemClock } from 'intentbook';

/** Returns the operations that run in the write thread: those that commit, `open` and `close`. */
export const createWriteOperations = (store: Store) => ({
  // The clock of a host cannot be passed to a thread. The thread uses it for the writer lease only.
  open: (domain: StoreContext['domain']) => store.open({ domain, clock: systemClock }),
  close: () => store.close(),
  check: () => store.check(),
  insertOrders: (...[inserts]: Parameters<Store['orders']['insert']>) => store.orders.insert(inserts),
  cancelOrders: (...[request]: Parameters<Store['orders']['cancel']>) => store.orders.cancel(request),
  expireOrders: (...[now, limit]: Parameters<Store['orders']['expire']>) => store.orders.expire(now, limit),
  reinstateOrders: (...[request]: Parameters<Store['orders']['reinstate']>) => store.orders.reinstate(request),
  pruneOrders: (...[request]: Parameters<Store['orders']['prune']>) => store.orders.prune(request),
  putDocument: (...[document, keep]: Parameters<Store['appData']['put']>) => store.appData.put(document, keep),
  insertQuote: (...[quote]: Parameters<Store['quotes']['insert']>) => store.quotes.insert(quote),
  pruneQuotes: (...[now, limit]: Parameters<Store['quotes']['prune']>) => store.quotes.prune(now, limit),
  applyEvents: (...[batch]: Parameters<Store['chain']['apply']>) => store.chain.apply(batch),
  rollBackEvents: (...[request]: Parameters<Store['chain']['rollback']>) => store.chain.rollback(request),
  pruneEvents: (...[request]: Parameters<Store['retention']['pruneEvents']>) => store.retention.pruneEvents(request),
  pruneChainEvents: (...[request]: Parameters<Store['retention']['pruneChainEvents']>) =>
    store.retention.pruneChainEvents(request),
  pruneDocuments: (...[request]: Parameters<Store['retention']['pruneDocuments']>) =>
    store.retention.pruneDocuments(request),
  insertAuction: (...[auction, keep]: Parameters<Store['auctions']['insert']>) => store.auctions.insert(auction, keep),
  recordCompetition: (...[competition, keep]: Parameters<Store['auctions']['record']>) =>
    store.auctions.record(competition, keep),
});

/** The operations of the write thread by name. */
export type WriteOperations = ReturnType<typeof createWriteOperations>;

/** A call of an operation. */
export interface WriteCall {
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

/** What a write thread receives at its start. */
export interface WriteThreadData {
  readonly source: unknown;
  /** See {@link createWriteState}. */
  readonly state: Int32Array;
}

/** Positions in the state. */
export const EPOCH = 0;
export const LEASE_END = 1;

/**
 * Creates the memory that a write thread shares with the thread of the book. It contains the epoch, which is odd while
 * an operation runs and different after it, so that a write is noticed before its result arrives. It also contains the
 * second (since 1970) until which no other process can become the writer.
 */
export function createWriteState(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
}

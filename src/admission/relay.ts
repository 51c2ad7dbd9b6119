import type { OrderBookError } from '../errors.ts';
import type { InsertOutcome, OrderInsert } from '../ports/store.ts';
import type { Hex } from '../protocol/hex.ts';

/** An admitted order that is passed to another book before it is stored. */
export interface RelayedOrder {
  readonly insert: OrderInsert;
  /** The quote of this book that the order names. */
  readonly quoteId: number | undefined;
}

export type RelayOutcome =
  | InsertOutcome
  /** The other book had the order before; it is stored here now. */
  | { readonly status: 'existing' }
  /** The other book has rejected the order, or cannot be reached. */
  | { readonly status: 'rejected'; readonly error: OrderBookError };

/** The outcome of a relayed cancellation. `cancelled`: by the other book, and here. */
export type RelayedCancellation =
  | { readonly status: 'cancelled'; readonly uids: readonly Hex[] }
  | { readonly status: 'rejected'; readonly error: OrderBookError }
  | { readonly status: 'unknown'; readonly error: OrderBookError };

/** Passes orders and cancellations to another book, so that this one claims nothing that the other does not. */
export interface Relay {
  /** Passes orders on, then stores those that the other book has accepted. Returns one outcome for each. */
  submit(
    orders: readonly RelayedOrder[],
    insert: (inserts: readonly OrderInsert[]) => Promise<InsertOutcome[]>,
  ): Promise<RelayOutcome[]>;
  /** Passes on a cancellation whose signature has been checked, then cancels the orders here. */
  cancel(request: unknown, uids: readonly Hex[]): Promise<RelayedCancellation>;
}

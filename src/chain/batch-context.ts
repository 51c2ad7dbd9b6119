import type { CheckContext } from '../admission/checks.ts';
import type { FindDocument } from '../admission/documents.ts';
import type { OrderQuote, QuoteTerms } from '../ports/quote-store.ts';
import type { AppDataStore } from '../ports/store.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { OrderHasher } from '../protocol/order.ts';
import type { FindAuction } from './attribution.ts';

/**
 * The storage of orders that a settlement has traded and the book does not have: those of settlements of its auctions,
 * or of its orders without an auction (`own`), those of all settlements of the contract (`all`), or none (`off`).
 */
export type JustInTimeOrders = 'own' | 'all' | 'off';

/** The query for the quote of a placement. */
export interface PlacementQuote {
  readonly uid: Hex;
  readonly terms: QuoteTerms;
  readonly id: number;
  readonly owner: Address;
  readonly presigns: boolean;
  /** Time of the placement, in milliseconds since 1970. */
  readonly at: number;
  /** Validity chosen by the user, in seconds since 1970. */
  readonly validTo: number;
}

export interface BatchContext extends Omit<CheckContext, 'now'> {
  readonly hasher: OrderHasher;
  readonly settlementContract: Address;
  readonly hooksTrampoline: Address;
  readonly documents: AppDataStore;
  /** Finds a document that the store does not have. */
  readonly findDocument?: FindDocument | undefined;
  /**
   * Finds the quote of a placement. `none`: no quote matches, and no estimator has a price. `past`: no quote matches,
   * and the estimators have failed or were not queried, since the order is expired or known, or the time for quotes of
   * its batch is over. Absent: this book has no estimators.
   */
  readonly findQuote?: (query: PlacementQuote) => Promise<OrderQuote | 'none' | 'past'>;
  readonly justInTimeOrders: JustInTimeOrders;
  /** Returns those of `uids` that are stored. */
  readonly findKnown: (uids: readonly Hex[]) => Promise<ReadonlySet<Hex>>;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Number of blocks whose hashes are stored. */
  readonly hashesKept: number;
  readonly findAuction: FindAuction;
}

import type { Address } from '../protocol/hex.ts';
import type { OrderKind } from '../protocol/order.ts';

/** A stored quote, rendered once. The store keeps both texts unchanged. */
export interface OrderQuote {
  /** All members of the quote in wire format except `metadata`, as a JSON object. */
  readonly body: string;
  /** Details of the settlement, as a JSON object: shown only once the order cannot be filled. */
  readonly metadata: string;
}

/** How the order of a quote will be placed: by a submitted signature, or on chain. */
/** The kind of a quote; each kind has its own lifetime. */
export type QuoteKind = 'standard' | 'onchainPresign' | 'onchainEip1271';

/**
 * The values that an order and its quote must have in common. Nothing else is compared, and in particular not the app
 * data. See docs/internals/decisions.md#d3-3.
 */
export interface QuoteTerms {
  readonly sellToken: Address;
  readonly buyToken: Address;
  readonly kind: OrderKind;
  /**
   * Atoms of the fixed side, decimal, without leading zeros: the amount sold including any fee, or the amount bought.
   */
  readonly amount: string;
}

/** A quote to store. It never changes. */
export interface NewQuote extends QuoteTerms {
  readonly quoteKind: QuoteKind;
  /** The last millisecond in which an order can be linked to it. */
  readonly expiresAt: number;
  /** Sort key: of several matching quotes, the greatest wins, compared byte by byte. ASCII, the same length for all. */
  readonly rank: string;
  readonly quote: OrderQuote;
}

/** The values by which a quote is matched to an order. */
export interface QuoteQuery extends QuoteTerms {
  /** The id of the quote that the order names. */
  readonly id?: number;
  readonly quoteKind: QuoteKind;
  /** Current time in milliseconds since 1970, for expiry. */
  readonly now: number;
}

/** Quotes, until they expire. */
export interface QuoteStore {
  /**
   * Stores a quote. Returns its id: a positive safe integer that is never reused. Only this step need not be on stable
   * storage: an order does not depend on its quote. A power failure that undoes it may cause another use of its id.
   */
  insert(quote: NewQuote): Promise<number>;

  /**
   * Returns the quote of an order. The quote with `id` matches if its terms are equal and it has not expired, whatever
   * its kind. Otherwise, of all unexpired quotes with the same terms and kind, the one with the greatest rank, and of
   * these the newest. The duration MUST NOT grow with the number of quotes with other terms.
   */
  match(query: QuoteQuery): Promise<OrderQuote | undefined>;

  /** Deletes quotes that expired before `now`, at most `limit`. Returns the number deleted. */
  prune(now: number, limit: number): Promise<number>;
}

import type { Address } from '../protocol/hex.ts';
import type { OrderKind } from '../protocol/order.ts';

/** What a quote says, rendered once. The store keeps both texts as they are. */
export interface OrderQuote {
  /** Every member of the wire's quote (contract, "StoredOrderQuote") but `metadata`, as a JSON object. */
  readonly body: string;
  /** How the trade would be settled, as a JSON object: shown only once the order cannot be filled any more. */
  readonly metadata: string;
}

/** How the order of a quote will be placed: by a signature sent in, or on chain. */
export const QUOTE_KINDS = ['standard', 'onchainPresign', 'onchainEip1271'] as const;
/** What a quote is for; each kind has an expiry of its own (decision 3.5). */
export type QuoteKind = (typeof QUOTE_KINDS)[number];

/** What an order must have in common with its quote: nothing else is compared, the app data least of all (decision 3.3). */
export interface QuoteTerms {
  readonly sellToken: Address;
  readonly buyToken: Address;
  readonly kind: OrderKind;
  /** Atoms of the fixed side, decimal, no leading zeros: what is sold, any fee included, or what is bought. */
  readonly amount: string;
}

/** A quote to store. It never changes. */
export interface NewQuote extends QuoteTerms {
  readonly quoteKind: QuoteKind;
  /** The last millisecond in which an order can be linked to it. */
  readonly expiresAt: number;
  /** How good it is: of several that fit, the greatest wins, compared byte by byte. ASCII, the same length for all. */
  readonly rank: string;
  readonly quote: OrderQuote;
}

/** What an order is matched to a quote by. */
export interface QuoteQuery extends QuoteTerms {
  /** The quote that the order names. */
  readonly id?: number;
  readonly quoteKind: QuoteKind;
  /** Milliseconds since 1970, by which expiry is judged. */
  readonly now: number;
}

/** Quotes, until they expire or are linked to an order. */
export interface QuoteStore {
  /** Stores a quote. @returns its id: a positive integer that a double holds, never given out twice. */
  insert(quote: NewQuote): Promise<number>;

  /**
   * Finds the quote of an order. That of `id` when its terms are the same and it has not expired, whatever its kind;
   * otherwise, of all that have the same terms and kind and have not expired, the one of the greatest rank, and of
   * several such the newest. The time it takes MUST NOT grow with the number of quotes of other terms.
   */
  match(query: QuoteQuery): Promise<OrderQuote | undefined>;

  /** Removes quotes that expired before `now`, at most `limit`. @returns how many. */
  prune(now: number, limit: number): Promise<number>;
}

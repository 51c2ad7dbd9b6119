import type { OrderBookError } from '../errors.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { BuyTokenDestination, OrderKind, SellTokenSource } from '../protocol/order.ts';
import type { SigningScheme } from '../protocol/signature.ts';

/**
 * The order that can be signed for a quote. Amounts are decimal strings of atoms; gas and prices are plain decimals
 * without an exponent.
 */
export interface QuotedOrder {
  readonly sellToken: Address;
  readonly buyToken: Address;
  readonly receiver: Address | null;
  /** The traded amount. For a sale quoted before fee, the requested amount is `sellAmount + feeAmount`. */
  readonly sellAmount: string;
  readonly buyAmount: string;
  readonly validTo: number;
  /** The value from the request: the document, or a hash. */
  readonly appData: string;
  /** The document's hash, if the request contains the document. */
  readonly appDataHash?: Hex;
  /** The gas costs in atoms of the sell token: settlement, hooks, and checking a contract signature. */
  readonly feeAmount: string;
  /** Gas units of the settlement, without hooks and signature check. */
  readonly gasAmount: string;
  /** Wei per unit of gas. */
  readonly gasPrice: string;
  /** Atoms of native currency for one atom of the sell token. */
  readonly sellTokenPrice: string;
  readonly kind: OrderKind;
  readonly partiallyFillable: false;
  readonly sellTokenBalance: SellTokenSource;
  readonly buyTokenBalance: BuyTokenDestination;
  readonly signingScheme: SigningScheme;
}

/** The response to a quote request (`POST /api/v1/quote`). */
export interface QuoteResponse {
  readonly quote: QuotedOrder;
  readonly from: Address;
  /** ISO 8601 UTC with milliseconds. For a quote that is not stored: the beginning of 1970. */
  readonly expiration: string;
  /** The `quoteId` for the order; null if the quote is not stored. */
  readonly id: number | null;
  /** Whether the trade was simulated successfully. */
  readonly verified: boolean;
  /** The volume fee that the amounts contain, in basis points; absent if there is none. */
  readonly protocolFeeBps?: string;
}

/** The result of a quote request. */
export type QuoteResult =
  | { readonly status: 'quoted'; readonly quote: QuoteResponse }
  | { readonly status: 'rejected'; readonly error: OrderBookError };

/** One event of a quote stream: a quote better than all before it, or an error if there was no quote. */
export type QuoteStreamEvent =
  | { readonly type: 'quote'; readonly quote: QuoteResponse }
  | { readonly type: 'error'; readonly error: OrderBookError };

/** The result of a quote stream request. */
export type QuoteStreamResult =
  | {
      readonly status: 'streaming';
      /** Ends when every estimator has finished, or at the deadline. Leaving the iteration early stops the work. */
      readonly quotes: AsyncIterable<QuoteStreamEvent>;
    }
  | { readonly status: 'rejected'; readonly error: OrderBookError };

import type { OrderCheckContext } from '../admission/checks.ts';
import type { ConvertCodes } from '../admission/convert-codes.ts';
import type { DocumentPolicy } from '../admission/documents.ts';
import type { Limits, TokenPolicy } from '../admission/limits.ts';
import type { PolicyCheckContext } from '../admission/policy.ts';
import type { OrderBookError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import type { SigningDomain } from '../protocol/eip712.ts';
import type { Address } from '../protocol/hex.ts';
import type { QuoteRequest } from '../protocol/quote-request.ts';
import type { QuoteResult, QuoteStreamResult } from '../records/quote-results.ts';
import type { EstimatorCounters, EstimatorObservation } from './estimators.ts';

/** Options of a quote call. */
export interface QuoteCallOptions {
  /** Aborts the call when the result is no longer needed. The call rejects with its reason. */
  readonly signal?: AbortSignal;
}

/** The result of a native price query. */
export type NativePriceResult =
  /** Atoms of native currency for one atom of the token, as a plain decimal. */
  | { readonly status: 'priced'; readonly price: string }
  | { readonly status: 'rejected'; readonly error: OrderBookError };

/** Quote methods. Rejections are returned as data; only failures and aborted calls are thrown. */
export interface QuoteApi {
  /**
   * Quotes a trade. The rejection has the code `InvalidParameter`, `NoLiquidity`, `UnsupportedToken`,
   * `SellAmountDoesNotCoverFee`, `QuoteNotVerified` or `ChainUnavailable`, or a code of order validation.
   */
  request(request: QuoteRequest, options?: QuoteCallOptions): Promise<QuoteResult>;
  /** Quotes a trade and emits quotes as estimates arrive: each is better than all before it. */
  stream(request: QuoteRequest, options?: QuoteCallOptions): Promise<QuoteStreamResult>;
  /** Returns the price of a token in native currency: the median of all estimators. */
  nativePrice(token: string, options?: QuoteCallOptions): Promise<NativePriceResult>;
  /** Returns the number of outcomes of each estimator, by its name. Empty until the book has started. */
  counters(): Readonly<Record<string, EstimatorCounters>>;
}

/** The quotes of the book behind this one. */
export interface OtherQuotes {
  request(request: QuoteRequest, signal?: AbortSignal): Promise<QuoteResult>;
  stream(request: QuoteRequest, signal?: AbortSignal): Promise<QuoteStreamResult>;
  /**
   * Returns the price of a token in native currency; `undefined` if that book has none.
   *
   * @throws Error if that book does not answer.
   */
  nativePrice(token: Address, signal: AbortSignal): Promise<number | undefined>;
}

export interface QuotesContext extends PolicyCheckContext, Pick<OrderCheckContext, 'eip1271' | 'rules'> {
  readonly store: Store;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly tokens: TokenPolicy;
  readonly documents: DocumentPolicy;
  readonly convertCodes: ConvertCodes;
  readonly domain: SigningDomain;
  readonly vaultRelayer: Address;
  readonly hooksTrampoline: Address;
  readonly observe: (observation: EstimatorObservation) => void;
  /** Quotes of the book behind this one, for a book without estimators. */
  readonly otherQuotes: OtherQuotes | undefined;
  /** Throws a `StoreError` unless the book is started. */
  readonly assertStarted: () => void;
}

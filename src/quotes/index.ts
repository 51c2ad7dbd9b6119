import { lazy } from '../concurrency/lazy.ts';
import type { OrderBookError } from '../errors.ts';
import type { Limits, TokenPolicy } from '../orders/limits.ts';
import type { PolicyCheckContext } from '../orders/policy.ts';
import type { Clock } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import type { EstimatorCounters, EstimatorObservation } from './estimators.ts';
import type { QuoteResult } from './quote.ts';
import type { QuoteOptions } from './quote-options.ts';
import { NO_SOURCES, readQuoteOptions } from './quote-options.ts';
import type { QuoteStreamResult } from './quote-stream.ts';
import { createQuoteSweeper } from './quote-sweeper.ts';
import type { QuoteRequest } from './request.ts';

/** A signal that ends the asking when nobody waits for the answer any more. */
export interface QuoteCallOptions {
  /** Aborted when nobody waits for the answer any more. The call rejects with its reason. */
  readonly signal?: AbortSignal;
}

/** What became of asking for a token's price. */
export type NativePriceResult =
  /** Atoms of native currency for one atom of the token, as a plain decimal. */
  | { readonly status: 'priced'; readonly price: string }
  | { readonly status: 'rejected'; readonly error: OrderBookError };

/** The methods on quotes. Rejections are returned; only failures and aborted calls reject. */
export interface QuoteApi {
  /** Quotes a trade: `InvalidParameter`, `NoLiquidity`, `UnsupportedToken`, `SellAmountDoesNotCoverFee` and what orders are rejected for. */
  request(request: QuoteRequest, options?: QuoteCallOptions): Promise<QuoteResult>;
  /** Quotes a trade as answers come in: each quote is better than all before it. */
  stream(request: QuoteRequest, options?: QuoteCallOptions): Promise<QuoteStreamResult>;
  /** What a token is worth in native currency. */
  nativePrice(token: string, options?: QuoteCallOptions): Promise<NativePriceResult>;
  /** How often each outcome has been observed of each source, by its name. Empty until the book has started. */
  counters(): Readonly<Record<string, EstimatorCounters>>;
}

/** What engine takes of the book. */
export interface QuotesContext extends PolicyCheckContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly tokens: TokenPolicy;
  readonly observe: (observation: EstimatorObservation) => void;
  /** Throws a `StoreError` `Closed` unless the book is started. */
  readonly assertStarted: () => void;
}

/** The methods, and what the book does with them when it starts and closes. */
export interface QuoteModule {
  readonly methods: QuoteApi;
  /** Loads what a book with sources needs. */
  prepare(): Promise<void>;
  start(): void;
  /** Ends what runs: whoever waits is told to come back later. */
  stop(): Promise<void>;
}

/**
 * What quotes is an eighth of the engine: a book with sources loads it when it starts, any other one when it is asked.
 *
 * @throws TypeError naming the option that is unknown or malformed.
 */
export function createQuoteModule(given: QuoteOptions | undefined, book: QuotesContext): QuoteModule {
  const options = readQuoteOptions(given ?? NO_SOURCES);
  const sweep = createQuoteSweeper(book.store.quotes, book.clock, book.onFailure);
  const engine = lazy(async () => {
    const { createQuoteEngine } = await import('./engine.ts');
    return createQuoteEngine(options, book);
  });

  return {
    methods: {
      async request(request, call) {
        book.assertStarted();
        return engine.use(({ methods }) => methods.request(request, call));
      },
      async stream(request, call) {
        book.assertStarted();
        return engine.use(({ methods }) => methods.stream(request, call));
      },
      async nativePrice(token, call) {
        book.assertStarted();
        return engine.use(({ methods }) => methods.nativePrice(token, call));
      },
      counters: () => engine.loaded?.methods.counters() ?? {},
    },
    async prepare() {
      if (given !== undefined) await engine.load();
    },
    start: sweep.start,
    async stop() {
      engine.loaded?.close();
      await sweep.stop();
    },
  };
}

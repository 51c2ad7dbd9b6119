import { lazy } from '../concurrency/lazy.ts';
import type { QuoteApi, QuotesContext } from './quote-api.ts';
import type { QuoteOptions } from './quote-options.ts';
import { NO_ESTIMATORS, parseQuoteOptions } from './quote-options.ts';
import { createQuoteSweeper } from './quote-sweeper.ts';

/** The quote methods, and their lifecycle for the book. */
export interface QuoteModule {
  readonly methods: QuoteApi;
  /** Requests a quote for an order of the book, also while the book waits for its last submissions. */
  readonly request: QuoteApi['request'];
  /** Loads the quote service if the book has estimators. */
  prepare(): Promise<void>;
  start(): void;
  /** Stops all work; waiting callers get a retryable rejection. */
  stop(): Promise<void>;
}

/**
 * Creates the quote module. The quote service is an eighth of the code, so it is loaded on demand. A book with
 * estimators loads it at the start, any other book on first use.
 *
 * @throws TypeError naming the option that is unknown or invalid.
 */
export function createQuoteModule(given: QuoteOptions | undefined, book: QuotesContext): QuoteModule {
  const options = parseQuoteOptions(given ?? NO_ESTIMATORS);
  const sweep = createQuoteSweeper(book.store.quotes, book.clock, book.onFailure);
  const service = lazy(async () => {
    const { createQuoteService } = await import('./quote-service.ts');
    return createQuoteService(options, book);
  });

  const request: QuoteApi['request'] = (quoted, call) => service.use(({ methods }) => methods.request(quoted, call));
  return {
    request,
    methods: {
      async request(quoted, call) {
        book.assertStarted();
        return request(quoted, call);
      },
      async stream(quoted, call) {
        book.assertStarted();
        return service.use(({ methods }) => methods.stream(quoted, call));
      },
      async nativePrice(token, call) {
        book.assertStarted();
        return service.use(({ methods }) => methods.nativePrice(token, call));
      },
      counters: () => service.loaded?.methods.counters() ?? {},
    },
    async prepare() {
      if (given !== undefined) await service.load();
    },
    start: sweep.start,
    async stop() {
      service.loaded?.close();
      await sweep.stop();
    },
  };
}

import { lazy } from '../concurrency/lazy.ts';
import type { QuoteApi, QuotesContext } from './quote-api.ts';
import { getOrderQuoting, NO_ESTIMATORS, parseQuoteOptions, type QuoteOptions } from './quote-options.ts';
import { createQuoteSweeper } from './quote-sweeper.ts';

/** The quote methods, and their lifecycle for the book. */
export interface Quotes {
  readonly methods: QuoteApi;
  /** Requests a quote for an order of the book, also while the book waits for its last submissions. */
  readonly request: QuoteApi['request'];
  /** How orders are linked with quotes, and how orders without a matching quote are quoted. */
  readonly ofOrders: ReturnType<typeof getOrderQuoting>;
  /** Loads the quote service if the book has estimators. */
  prepare(): Promise<void>;
  start(): void;
  /** Stops all work; waiting callers get a retryable rejection. */
  stop(): Promise<void>;
}

/**
 * Creates the quotes of a book. The quote service is an eighth of the code, so it is loaded on demand. A book with
 * estimators loads it at the start, any other book on first use.
 *
 * @throws TypeError naming the option that is unknown or invalid.
 */
export function createQuotes(given: QuoteOptions | undefined, book: QuotesContext): Quotes {
  const other = given === undefined ? book.otherQuotes : undefined;
  const options = parseQuoteOptions(given ?? NO_ESTIMATORS);
  const sweep = createQuoteSweeper(book.store.quotes, book.clock, book.onFailure);
  const service = lazy(async () => {
    const { createQuoteService } = await import('./quote-service.ts');
    return createQuoteService(options, book);
  });

  const request: QuoteApi['request'] = (quoted, call) => service.use(({ methods }) => methods.request(quoted, call));
  return {
    request,
    ofOrders: getOrderQuoting(given, request),
    methods: {
      async request(quoted, call) {
        book.assertStarted();
        return other === undefined ? request(quoted, call) : other.request(quoted, call?.signal);
      },
      async stream(quoted, call) {
        book.assertStarted();
        if (other !== undefined) return { status: 'streaming', quotes: other.stream(quoted, call?.signal) };
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

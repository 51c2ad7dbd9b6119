import { lazy } from '../concurrency/lifecycle.ts';
import { assertKnownOptions } from '../validation/options.ts';
import type { QuoteApi, QuoteCallOptions, QuotesContext } from './quote-api.ts';
import { getOrderQuoting, NO_ESTIMATORS, parseQuoteOptions, type QuoteOptions } from './quote-options.ts';

/**
 * Creates the quotes of a book. The quote service is an eighth of the code, so it is loaded on demand. A book with
 * estimators loads it at the start, any other book on first use.
 *
 * @throws TypeError naming the option that is unknown or invalid.
 */
export function createQuotes(given: QuoteOptions | undefined, book: QuotesContext) {
  const other = given === undefined ? book.otherQuotes : undefined;
  const options = parseQuoteOptions(given ?? NO_ESTIMATORS);
  const sweep = lazy(async () => {
    const { createQuoteSweeper } = await import('./quote-sweeper.ts');
    return createQuoteSweeper(book.store.quotes, book.clock, book.onFailure);
  });
  const service = lazy(async () => {
    const { createQuoteService } = await import('./quote-service.ts');
    return createQuoteService(options, book);
  });

  const request: QuoteApi['request'] = (quoted, call) => service.use(({ methods }) => methods.request(quoted, call));
  const assertCall = (method: string, call: QuoteCallOptions = {}) => {
    book.assertStarted();
    assertKnownOptions(`quotes.${method}`, call, ['signal']);
  };
  return {
    /** Requests a quote for an order of the book, also while the book waits for its last submissions. */
    request,
    /** How orders are linked with quotes, and how orders without a matching quote are quoted. */
    ofOrders: getOrderQuoting(given, request),
    methods: {
      async request(quoted, call) {
        assertCall('request', call);
        return other === undefined ? request(quoted, call) : other.request(quoted, call?.signal);
      },
      async stream(quoted, call) {
        assertCall('stream', call);
        if (other !== undefined) return other.stream(quoted, call?.signal);
        return service.use(({ methods }) => methods.stream(quoted, call));
      },
      async nativePrice(token, call) {
        assertCall('nativePrice', call);
        return service.use(({ methods }) => methods.nativePrice(token, call));
      },
      counters: () => service.loaded?.methods.counters() ?? {},
    } satisfies QuoteApi,
    async prepare() {
      await Promise.all([sweep.load(), given && service.load()]);
    },
    start: () => sweep.loaded?.start(),
    /** Stops all work; waiting callers get a retryable rejection. */
    async stop() {
      service.loaded?.close();
      await sweep.loaded?.stop();
    },
  };
}

import { createClockWatch } from '../concurrency/clock-watch.ts';
import { lazy } from '../concurrency/lazy.ts';
import { createWorker, type Worker } from '../concurrency/worker.ts';
import { yieldToEventLoop } from '../concurrency/yield.ts';
import type { Clock } from '../ports/clock.ts';
import type { QuoteStore } from '../ports/quote-store.ts';
import { assertKnownOptions } from '../validation/options.ts';
import type { QuoteApi, QuoteCallOptions, QuotesContext } from './quote-api.ts';
import { getOrderQuoting, NO_ESTIMATORS, parseQuoteOptions, type QuoteOptions } from './quote-options.ts';

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
  const assertCall = (method: string, call: QuoteCallOptions = {}) => {
    book.assertStarted();
    assertKnownOptions(`quotes.${method}`, call, ['signal']);
  };
  return {
    request,
    ofOrders: getOrderQuoting(given, request),
    methods: {
      async request(quoted, call) {
        assertCall('request', call);
        return other === undefined ? request(quoted, call) : other.request(quoted, call?.signal);
      },
      async stream(quoted, call) {
        assertCall('stream', call);
        if (other !== undefined) return { status: 'streaming', quotes: other.stream(quoted, call?.signal) };
        return service.use(({ methods }) => methods.stream(quoted, call));
      },
      async nativePrice(token, call) {
        assertCall('nativePrice', call);
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

/** Milliseconds between two sweeps. */
const INTERVAL = 30_000;

/** Quotes that are deleted in one step. */
const BATCH_SIZE = 1_000;

/** Milliseconds after a jump of the clock in which nothing is deleted. */
const JUMP_PAUSE = 600_000;

/** Deletes expired quotes in the background. */
type QuoteSweeper = Pick<Worker, 'start' | 'stop'>;

/** Creates the sweeper of a quote store. */
function createQuoteSweeper(quotes: QuoteStore, clock: Clock, onFailure: (failure: unknown) => void): QuoteSweeper {
  const watch = createClockWatch(clock);

  /** Deletes a batch. @returns whether there may be more. */
  async function deleteBatch(): Promise<boolean> {
    if (watch.hasJumped(JUMP_PAUSE)) return false;
    return (await quotes.prune(clock.now(), BATCH_SIZE)) === BATCH_SIZE;
  }

  return createWorker({
    clock,
    interval: INTERVAL,
    runAtStart: false,
    onFailure,
    async run(isStopping) {
      // A synchronous store would otherwise block the event loop until every expired quote is deleted.
      while (!isStopping() && (await deleteBatch())) await yieldToEventLoop();
      return undefined;
    },
  });
}

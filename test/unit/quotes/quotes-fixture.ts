import type {
  EstimateContext,
  EstimateFunction,
  Estimator,
  EstimatorObservation,
  OrderBook,
  QuoteOptions,
  QuoteRequest,
  Store,
  Trade,
} from 'intentbook';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { manualClock } from '../../support/clock.ts';
import { COW, SEPOLIA, WETH } from '../../support/orders.ts';

export const ETHER = 10n ** 18n;

/** Ten gwei. */
export const GAS_PRICE = '10000000000';

/** A request to sell ten COW for WETH. */
export const SELL: QuoteRequest = {
  sellToken: COW,
  buyToken: WETH,
  from: '0x00000000000000000000000000000000000a11ce',
  kind: 'sell',
  sellAmountBeforeFee: (1000n * ETHER).toString(),
};

/** A book on a store and a clock moved by hand, with everything that it observes. */
export async function quotingWorld(
  quotes: Partial<QuoteOptions> & Pick<QuoteOptions, 'estimators'>,
  store: Store = memoryStore(),
) {
  const clock = manualClock();
  const observations: EstimatorObservation[] = [];
  const failures: unknown[] = [];
  // Without the sweep, what waits on the clock is the quotes' own.
  const options = { chainId: SEPOLIA, store, clock, expiryInterval: 'off' } as const;
  const book = createOrderBook({ ...options, quotes: { gasPrice: GAS_PRICE, ...quotes } });
  book.on('estimatorQueried', (observation) => observations.push(observation));
  book.on('failure', (failure) => failures.push(failure));
  await book.start();
  return { book, clock, store, observations, failures, outcomes: () => outcomesOf(observations) };
}

/** What became of asking each source about trades. */
function outcomesOf(observations: readonly EstimatorObservation[]): Record<string, string> {
  const trades = observations.filter(({ question }) => question === 'trade');
  return Object.fromEntries(trades.map(({ source, outcome }) => [source, outcome]));
}

/** A source that says COW is worth 0.0003 native atoms, and answers trades as the test wants. */
export function source(name: string, estimate: EstimateFunction): Estimator {
  return { name, estimate, nativePrice: () => '0.0003' };
}

/** A source that answers every trade with a fixed amount at once. */
export const answering = (name: string, amount: bigint, gas = 100_000) => source(name, () => ({ amount, gas }));

export const hanging = (name: string) => source(name, () => new Promise(() => {}));

/** A source whose answers the test gives, with what it was asked. */
export function prompted(name: string) {
  const asked: { trade: Trade; context: EstimateContext; answer: (answer: unknown) => void }[] = [];
  const estimator = source(
    name,
    (trade, context) =>
      new Promise((resolve) => asked.push({ trade, context, answer: (given) => resolve(given as never) })), // anything may come
  );
  return { ...estimator, asked };
}

/** Lets everything run that waits for no clock. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** Whether a promise has been settled, without waiting for it. */
export function watch<T>(promise: Promise<T>) {
  const state: { done: boolean; value?: T; error?: unknown } = { done: false };
  promise.then(
    (value) => Object.assign(state, { done: true, value }),
    (error: unknown) => Object.assign(state, { done: true, error }),
  );
  return state;
}

/** A quote that must be given. */
export async function quoted(book: OrderBook, request: QuoteRequest) {
  const result = await book.quotes.request(request);
  if (result.status !== 'quoted') throw new Error(`no quote: ${result.error.code} ${result.error.message}`);
  return result.quote;
}

/** A rejection that must come. */
export async function rejected(book: OrderBook, request: unknown) {
  const result = await book.quotes.request(request as QuoteRequest); // the test's own mistake
  if (result.status !== 'rejected') throw new Error(`quoted: ${JSON.stringify(result.quote)}`);
  return result.error;
}

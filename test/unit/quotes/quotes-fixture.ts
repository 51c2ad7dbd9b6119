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

/** A book on a store and a manual clock, with everything that it emits. */
export async function quotesFixture(
  quotes: Partial<QuoteOptions> & Pick<QuoteOptions, 'estimators'>,
  store: Store = memoryStore(),
) {
  const clock = manualClock();
  const observations: EstimatorObservation[] = [];
  const failures: unknown[] = [];
  // Without the sweep, the waiting tasks are those of the quotes.
  const options = { chainId: SEPOLIA, store, clock, expiryInterval: 'off', eip1271: 'accept-unverified' } as const;
  const book = createOrderBook({ ...options, quotes: { gasPrice: GAS_PRICE, ...quotes } });
  book.on('estimatorQueried', (observation) => observations.push(observation));
  book.on('failure', (failure) => failures.push(failure));
  await book.start();
  return { book, clock, store, observations, failures, outcomes: () => outcomesOf(observations) };
}

/** Outcomes of each estimator for trades. */
function outcomesOf(observations: readonly EstimatorObservation[]): Record<string, string> {
  const trades = observations.filter(({ request }) => request === 'trade');
  return Object.fromEntries(trades.map(({ source, outcome }) => [source, outcome]));
}

/** An estimator with a COW price of 0.0003 native atoms and scripted estimates. */
export function source(name: string, estimate: EstimateFunction): Estimator {
  return { name, estimate, nativePrice: () => '0.0003' };
}

/** An estimator that returns a fixed amount immediately. */
export const answering = (name: string, amount: bigint, gas = 100_000) => source(name, () => ({ amount, gas }));

export const hanging = (name: string) => source(name, () => new Promise(() => {}));

/** An estimator with manual responses that records its requests. */
export function prompted(name: string) {
  const recordedCalls: { trade: Trade; context: EstimateContext; answer: (answer: unknown) => void }[] = [];
  const estimator = source(
    name,
    (trade, context) =>
      // Any value is possible.
      new Promise((resolve) => recordedCalls.push({ trade, context, answer: (given) => resolve(given as never) })),
  );
  return { ...estimator, recordedCalls };
}

/** Waits for all work that does not depend on the clock. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** Checks whether a promise has settled, without waiting for it. */
export function watch<T>(promise: Promise<T>) {
  const state: { done: boolean; value?: T; error?: unknown } = { done: false };
  promise.then(
    (value) => Object.assign(state, { done: true, value }),
    (error: unknown) => Object.assign(state, { done: true, error }),
  );
  return state;
}

/** Requests a quote that must be returned. */
export async function quoted(book: OrderBook, request: QuoteRequest) {
  const result = await book.quotes.request(request);
  if (result.status !== 'quoted') throw new Error(`no quote: ${result.error.code} ${result.error.message}`);
  return result.quote;
}

/** Requests a quote that must be rejected. */
export async function rejected(book: OrderBook, request: unknown) {
  const result = await book.quotes.request(request as QuoteRequest); // an error of the test
  if (result.status !== 'rejected') throw new Error(`quoted: ${JSON.stringify(result.quote)}`);
  return result.error;
}

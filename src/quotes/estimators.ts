import { OrderBookError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { EstimateContext, Estimator, Trade } from '../ports/estimator.ts';
import { compareDecimals, type Decimal, divideDecimals } from '../protocol/decimal.ts';
import type { Address } from '../protocol/hex.ts';
import { type ValidatedEstimate, validateEstimate, validatePrice } from './estimate-validation.ts';
import { type EstimatorOutcome, type Race, type RaceResponse, type RaceRunner, startRace } from './estimator-race.ts';
import type { RaceCache } from './race-cache.ts';

/** One call of an estimator. */
export interface EstimatorObservation {
  /** Name of the estimator. */
  readonly source: string;
  /** Whether a trade or a native price was estimated. */
  readonly request: 'trade' | 'price';
  readonly outcome: EstimatorOutcome;
  /** Duration in milliseconds. */
  readonly ms: number;
  /** The error, if the estimator threw or rejected. */
  readonly cause?: unknown;
}

/** Number of each outcome of an estimator, over both kinds of calls. */
export type EstimatorCounters = Readonly<Record<EstimatorOutcome, number>>;

export interface EstimatorPoolOptions {
  readonly estimators: readonly Estimator[];
  readonly clock: Clock;
  readonly raceCache: RaceCache;
  /** The token that represents native currency. */
  readonly wrappedNative: Address | undefined;
  readonly settlementContract: Address;
  /** Whether the book simulates estimates itself. Then estimators cannot report that an estimate is verified. */
  readonly simulates: boolean;
  /** Atoms of wrapped native currency in the trade that determines the price of a token. */
  readonly priceAmount: bigint;
  readonly observe: (observation: EstimatorObservation) => void;
  readonly onFailure: (failure: unknown) => void;
}

/** All estimators of a book, called concurrently. */
export type EstimatorPool = ReturnType<typeof createEstimatorPool>;

/** Number of significant digits of a price that is derived from a trade: a few more than a double has. */
const PRICE_DIGITS = 18;

/** Divisor of the price amount for a second attempt, if there is no route for the full amount. */
const PROBE_AMOUNT = 1_000n;

export function createEstimatorPool(options: EstimatorPoolOptions) {
  const { estimators, clock, raceCache, wrappedNative, priceAmount, settlementContract, simulates } = options;
  const counters = new Map(estimators.map(({ name }) => [name, { ...NO_OUTCOMES }]));

  const createObserver = (request: EstimatorObservation['request']) => {
    return (source: string, outcome: EstimatorOutcome, ms: number, cause?: unknown) => {
      const counter = counters.get(source);
      if (counter === undefined) return;
      counter[outcome]++;
      try {
        options.observe({ source, request, outcome, ms, ...(cause === undefined ? {} : { cause }) });
      } catch (failure) {
        options.onFailure(failure); // an error of a listener must not end the race
      }
    };
  };

  const createPriceRunner = (estimator: Estimator, token: Address): RaceRunner<Decimal> => ({
    name: estimator.name,
    async run(context) {
      if (estimator.nativePrice !== undefined) return validatePrice(await estimator.nativePrice(token, context));
      if (wrappedNative === undefined) return { outcome: 'none' };
      let result = await estimatePrice(estimator, token, wrappedNative, priceAmount, context);
      // The token may still be traded in a pool with less native currency.
      const less = priceAmount / PROBE_AMOUNT;
      if (result.outcome === 'none' && less > 0n && !context.signal.aborted) {
        result = await estimatePrice(estimator, token, wrappedNative, less, context);
      }
      return result;
    },
  });

  const createRunners = <T>(create: (estimator: Estimator) => RaceRunner<T>): readonly RaceRunner<T>[] =>
    estimators.length === 0 ? [NO_ESTIMATORS] : estimators.map(create);

  return {
    /** Starts a race for a trade; concurrent calls with the same trade and timeout share one race. */
    estimates(trade: Trade, timeout: number): Race<readonly ValidatedEstimate[]> {
      const { sellToken, buyToken, kind, amount } = trade;
      return raceCache.share(`trade ${sellToken} ${buyToken} ${kind} ${amount} ${timeout}`, timeout, (onEnd) =>
        startRace({
          clock,
          timeout,
          onEnd,
          observe: createObserver('trade'),
          runners: createRunners((estimator) => ({
            name: estimator.name,
            run: async (context) => {
              const result = await estimator.estimate(trade, { ...context, settlementContract });
              const response = validateEstimate(estimator.name, trade, result);
              if (!simulates || response.outcome !== 'responded') return response;
              return { ...response, value: response.value.map((each) => ({ ...each, verified: false })) };
            },
          })),
        }),
      );
    },
    /** Starts a race for the price of a token, in native atoms per atom. `onStart` is called if the race is new. */
    prices(token: Address, timeout: number, onStart: (race: Race<Decimal>) => void): Race<Decimal> {
      return raceCache.share(`price ${token} ${timeout}`, timeout, (onEnd) => {
        const race = startRace({
          clock,
          timeout,
          onEnd,
          observe: createObserver('price'),
          runners: createRunners((estimator) => createPriceRunner(estimator, token)),
        });
        onStart(race);
        return race;
      });
    },
    counters: (): Readonly<Record<string, EstimatorCounters>> =>
      Object.fromEntries([...counters].map(([name, counter]) => [name, { ...counter }])),
  };
}

/** Rejects for a book without estimators, so that the reason is not that no estimator has a price. */
const NO_ESTIMATORS: RaceRunner<never> = {
  name: '',
  run: async () => {
    const reason = 'this book has no estimators; see the option `quotes`';
    return { outcome: 'rejected', error: new OrderBookError('NoLiquidity', reason) };
  },
};

/** Derives the price of a token from an estimate that buys wrapped native currency with it. */
async function estimatePrice(
  estimator: Estimator,
  token: Address,
  wrappedNative: Address,
  amount: bigint,
  context: EstimateContext,
): Promise<RaceResponse<Decimal>> {
  const trade: Trade = Object.freeze({ sellToken: token, buyToken: wrappedNative, kind: 'buy', amount });
  const result = validateEstimate(estimator.name, trade, await estimator.estimate(trade, context));
  if (result.outcome !== 'responded') return result;
  const prices = result.value.map(({ amount: sold }) => divideDecimals(amount, sold, PRICE_DIGITS));
  return { outcome: 'responded', value: prices.reduce((a, b) => (compareDecimals(a, b) < 0 ? b : a)) };
}

const NO_OUTCOMES: Record<EstimatorOutcome, number> = {
  responded: 0,
  none: 0,
  invalid: 0,
  rejected: 0,
  failed: 0,
  late: 0,
  abandoned: 0,
};

import type { Clock } from '../ports/clock.ts';
import type { EstimateContext, Estimator, Trade } from '../ports/estimator.ts';
import type { Decimal } from '../protocol/decimal.ts';
import { compareDecimals, quotient } from '../protocol/decimal.ts';
import type { Address } from '../protocol/hex.ts';
import type { ValidatedEstimate } from './estimate-validation.ts';
import { validateEstimate, validatePrice } from './estimate-validation.ts';
import type { EstimatorOutcome, Race, RaceAnswer, RaceRunner } from './estimator-race.ts';
import { startRace } from './estimator-race.ts';
import type { RaceCache } from './race-cache.ts';

/** One source having been asked one question. */
export interface EstimatorObservation {
  /** The name of the source. */
  readonly source: string;
  /** A trade, or what a token is worth in native currency. */
  readonly question: 'trade' | 'price';
  readonly outcome: EstimatorOutcome;
  /** Milliseconds that it took. */
  readonly ms: number;
  /** What it threw, when it did. */
  readonly cause?: unknown;
}

/** How often each outcome has been observed of a source, over both kinds of question. */
export type EstimatorCounters = Readonly<Record<EstimatorOutcome, number>>;

export interface EstimatorPoolOptions {
  readonly estimators: readonly Estimator[];
  readonly clock: Clock;
  readonly flights: RaceCache;
  /** The token that stands for native currency. */
  readonly wrappedNative: Address | undefined;
  /** How many atoms of wrapped native currency are bought to learn the price of a token. */
  readonly priceAmount: bigint;
  readonly observe: (observation: EstimatorObservation) => void;
  readonly onFailure: (failure: unknown) => void;
}

/** Every source of a book, asked at once. */
export interface EstimatorPool {
  /** Asks about a trade; questions about the same one with as much time, asked at about the same time, are one. */
  estimates(trade: Trade, timeout: number): Race<readonly ValidatedEstimate[]>;
  /** Asks what a token is worth, in native atoms for one of its atoms. Tells of the race if it is a new one. */
  prices(token: Address, timeout: number, onStart: (race: Race<Decimal>) => void): Race<Decimal>;
  counters(): Readonly<Record<string, EstimatorCounters>>;
}

/** How many digits a price has that is derived from a trade: a few more than a double. */
const PRICE_DIGITS = 18;

/** By how much less native currency a source is asked for that cannot sell the usual amount. */
const PROBE_AMOUNT = 1_000n;

export function createEstimatorPool(options: EstimatorPoolOptions): EstimatorPool {
  const { estimators, clock, flights, wrappedNative, priceAmount } = options;
  const counters = new Map(estimators.map(({ name }) => [name, { ...NO_OUTCOMES }]));

  const observing = (question: EstimatorObservation['question']) => {
    return (source: string, outcome: EstimatorOutcome, ms: number, cause?: unknown) => {
      const counter = counters.get(source);
      if (counter !== undefined) counter[outcome]++;
      try {
        options.observe({ source, question, outcome, ms, ...(cause === undefined ? {} : { cause }) });
      } catch (failure) {
        options.onFailure(failure); // a listener's, which must not end the race
      }
    };
  };

  const askForPrice = (estimator: Estimator, token: Address): RaceRunner<Decimal> => ({
    name: estimator.name,
    async run(context) {
      if (estimator.nativePrice !== undefined) return validatePrice(await estimator.nativePrice(token, context));
      if (wrappedNative === undefined) return { outcome: 'none' };
      let judged = await askToBuy(estimator, token, wrappedNative, priceAmount, context);
      // A pool that has not as much native currency may still be where the token is traded.
      const less = priceAmount / PROBE_AMOUNT;
      if (judged.outcome === 'none' && less > 0n && !context.signal.aborted) {
        judged = await askToBuy(estimator, token, wrappedNative, less, context);
      }
      return judged;
    },
  });

  return {
    estimates(trade, timeout) {
      const { sellToken, buyToken, kind, amount } = trade;
      return flights.share(`trade ${sellToken} ${buyToken} ${kind} ${amount} ${timeout}`, timeout, (onEnd) =>
        startRace({
          clock,
          timeout,
          onEnd,
          observe: observing('trade'),
          runners: estimators.map((estimator) => ({
            name: estimator.name,
            run: async (context) => validateEstimate(estimator.name, trade, await estimator.estimate(trade, context)),
          })),
        }),
      );
    },
    prices(token, timeout, onStart) {
      return flights.share(`price ${token} ${timeout}`, timeout, (onEnd) => {
        const race = startRace({
          clock,
          timeout,
          onEnd,
          observe: observing('price'),
          runners: estimators.map((estimator) => askForPrice(estimator, token)),
        });
        onStart(race);
        return race;
      });
    },
    counters: () => Object.fromEntries([...counters].map(([name, counter]) => [name, { ...counter }])),
  };
}

/** What a token is worth by how much of it buys so much native currency. */
async function askToBuy(
  estimator: Estimator,
  token: Address,
  wrappedNative: Address,
  amount: bigint,
  context: EstimateContext,
): Promise<RaceAnswer<Decimal>> {
  const trade: Trade = Object.freeze({ sellToken: token, buyToken: wrappedNative, kind: 'buy', amount });
  const judged = validateEstimate(estimator.name, trade, await estimator.estimate(trade, context));
  if (judged.outcome !== 'answered') return judged;
  const prices = judged.value.map(({ amount: sold }) => quotient(amount, sold, PRICE_DIGITS));
  return { outcome: 'answered', value: prices.reduce((a, b) => (compareDecimals(a, b) < 0 ? b : a)) };
}

const NO_OUTCOMES: Record<EstimatorOutcome, number> = {
  answered: 0,
  none: 0,
  invalid: 0,
  rejected: 0,
  failed: 0,
  late: 0,
  abandoned: 0,
};

import { OrderBookError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import { NATIVE_MARKER } from '../protocol/chains.ts';
import type { Decimal } from '../protocol/decimal.ts';
import type { Address } from '../protocol/hex.ts';
import { median } from './estimate-validation.ts';
import type { RaceSubscription } from './estimator-race.ts';
import type { EstimatorPool } from './estimators.ts';
import { shuttingDownError } from './rejection.ts';

/** What tokens are worth in native currency, remembered for a while. */
export interface NativePrices {
  /**
   * The price of a token: atoms of native currency for one of its atoms.
   *
   * @param until whether to take the first answer, or the median of all that come before the deadline.
   * @returns the price, or `NoLiquidity` or `UnsupportedToken`. Rejects with the signal's reason when it is aborted.
   */
  get(
    token: Address,
    timeout: number,
    until: 'end' | 'first answer',
    signal?: AbortSignal,
  ): Promise<Decimal | OrderBookError>;
}

export interface NativePricesOptions {
  readonly sources: EstimatorPool;
  readonly clock: Clock;
  readonly wrappedNative: Address | undefined;
  /** Milliseconds that the sources have before what they have said is remembered, however short of time a caller is. */
  readonly timeout: number;
  /** Milliseconds that a price is remembered for. */
  readonly ttl: number;
}

/** How many tokens are remembered; those priced longest ago are forgotten first. */
const CAPACITY = 10_000;

const ONE: Decimal = { digits: 1n, scale: 0 };

export function createNativePrices(options: NativePricesOptions): NativePrices {
  const { sources, clock, wrappedNative, ttl } = options;
  const remembered = new Map<Address, { readonly price: Decimal; readonly at: number }>();

  function recall(token: Address): Decimal | undefined {
    const known = remembered.get(token);
    if (known === undefined) return undefined;
    const age = clock.now() - known.at;
    return age >= 0 && age < ttl ? known.price : undefined; // a clock may step back
  }

  function remember(token: Address, answers: readonly Decimal[]): void {
    if (answers.length === 0 || ttl <= 0) return;
    remembered.delete(token);
    remembered.set(token, { price: median(answers), at: clock.now() });
    const [oldest] = remembered.keys();
    if (remembered.size > CAPACITY && oldest !== undefined) remembered.delete(oldest);
  }

  /**
   * The book waits for a price itself, as long as it is its habit. What is remembered for everybody is then never the
   * part of the answers that was there when somebody had no more time, was content with the first, or left.
   */
  function ask(token: Address, timeout: number): RaceSubscription<Decimal> {
    const race = sources.prices(token, options.timeout, (started) => {
      started.subscribe(options.timeout, ({ answers, closed }) => {
        if (!closed) remember(token, answers);
      });
    });
    return race.subscribe(timeout);
  }

  return {
    async get(token, timeout, until, signal) {
      if (token === wrappedNative || token === NATIVE_MARKER) return ONE;
      const known = recall(token);
      if (known !== undefined) return known;
      const seat = ask(token, timeout);
      try {
        while (!seat.over && (until === 'end' || seat.answers.length === 0)) await seat.changed(signal);
      } finally {
        seat.unsubscribe();
      }
      const { answers, rejections, closed } = seat;
      if (closed) return shuttingDownError();
      if (answers.length > 0) return median(answers);
      return rejections[0] ?? new OrderBookError('NoLiquidity', `no source has a price for ${token}`, { token });
    },
  };
}

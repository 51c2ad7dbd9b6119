import { OrderBookError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import { NATIVE_MARKER } from '../protocol/chains.ts';
import type { Decimal } from '../protocol/decimal.ts';
import type { Address } from '../protocol/hex.ts';
import { higher } from './answer.ts';
import { settled } from './race.ts';
import type { Sources } from './sources.ts';

/** What tokens are worth in native currency, remembered for a while. */
export interface NativePrices {
  /**
   * The price of a token: atoms of native currency for one of its atoms.
   *
   * @param until whether to take the first answer, or the highest of all that come before the deadline.
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
  readonly sources: Sources;
  readonly clock: Clock;
  readonly wrappedNative: Address | undefined;
  /** Milliseconds that a price is remembered for. */
  readonly ttl: number;
}

/** How many tokens are remembered; those priced longest ago are forgotten first. */
const CAPACITY = 10_000;

const ONE: Decimal = { digits: 1n, scale: 0 };

export function createNativePrices({ sources, clock, wrappedNative, ttl }: NativePricesOptions): NativePrices {
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
    remembered.set(token, { price: answers.reduce(higher), at: clock.now() });
    const [oldest] = remembered.keys();
    if (remembered.size > CAPACITY && oldest !== undefined) remembered.delete(oldest);
  }

  return {
    async get(token, timeout, until, signal) {
      if (token === wrappedNative || token === NATIVE_MARKER) return ONE;
      const known = recall(token);
      if (known !== undefined) return known;
      const race = sources.prices(token, timeout, ({ answers }) => remember(token, answers));
      await settled(race, until, signal);
      if (race.answers.length > 0) return race.answers.reduce(higher);
      return race.refusals[0] ?? new OrderBookError('NoLiquidity', `no source has a price for ${token}`, { token });
    },
  };
}

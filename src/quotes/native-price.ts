import { setBounded } from '../concurrency/bounded-map.ts';
import { OrderBookError } from '../errors.ts';
import { type Clock, isRecent, readMonotonic } from '../ports/clock.ts';
import { NATIVE_MARKER } from '../protocol/chains.ts';
import type { Decimal } from '../protocol/decimal.ts';
import type { Address } from '../protocol/hex.ts';
import { isUsablePrice, median } from './estimate-validation.ts';
import type { RaceSubscription } from './estimator-race.ts';
import type { EstimatorPool } from './estimators.ts';
import { createNoPriceError, createShutdownError } from './rejection.ts';
import type { UnwrapToken } from './vaults.ts';

/** Prices of tokens in native currency, with a cache. */
export type NativePrices = ReturnType<typeof createNativePrices>;

export interface NativePricesOptions {
  readonly estimatorPool: EstimatorPool;
  readonly clock: Clock;
  readonly wrappedNative: Address | undefined;
  /** Time limit for a cached price, in milliseconds. Independent of the callers' timeouts. */
  readonly timeout: number;
  /** Time for which a price is cached, in milliseconds. */
  readonly ttl: number;
  /** Finds the asset of a vault and the value of a share in it. Absent: vaults are priced as any other token. */
  readonly unwrap?: UnwrapToken | undefined;
}

/** Maximum number of cached prices; the oldest are dropped first. */
const CAPACITY = 10_000;

const ONE: Decimal = { digits: 1n, scale: 0 };

export function createNativePrices(options: NativePricesOptions) {
  const { estimatorPool, clock, wrappedNative, ttl } = options;
  const cache = new Map<Address, { readonly price: Decimal; readonly at: number }>();

  const isNative = (token: Address) => token === wrappedNative || token === NATIVE_MARKER;

  function readCache(token: Address): Decimal | undefined {
    const cached = cache.get(token);
    return cached !== undefined && isRecent(clock, cached.at, ttl) ? cached.price : undefined;
  }

  function writeCache(token: Address, responses: readonly Decimal[]): void {
    if (responses.length === 0 || ttl <= 0) return;
    setBounded(cache, token, { price: median(responses), at: readMonotonic(clock) }, CAPACITY);
  }

  /**
   * Subscribes to the price of a token. The cache has its own subscription with the standard timeout. So a cached price
   * is never based on the partial results of a caller that timed out or left.
   */
  function subscribe(token: Address, timeout: number): RaceSubscription<Decimal> {
    const race = estimatorPool.prices(token, options.timeout, (started) => {
      started.subscribe(options.timeout, ({ responses, closed }) => {
        if (!closed) writeCache(token, responses);
      });
    });
    return race.subscribe(timeout);
  }

  const prices = {
    /**
     * Returns the price of a token: atoms of native currency for one of its atoms.
     *
     * @param until - `first response`: use the first price. `end`: use the median of all prices before the deadline.
     * @returns The price, or `NoLiquidity` or `UnsupportedToken`. When the signal is aborted, the median of the prices
     *   so far; without any, rejects with its reason.
     */
    async get(
      token: Address,
      timeout: number,
      until: 'end' | 'first response',
      signal?: AbortSignal,
    ): Promise<Decimal | OrderBookError> {
      if (isNative(token)) return ONE;
      const cached = readCache(token);
      if (cached !== undefined) return cached;
      const since = readMonotonic(clock);
      // At most half of the time: without a response, the token is priced as any other.
      const vault = await options.unwrap?.(token, timeout / 2, signal);
      const left = Math.max(0, timeout - (readMonotonic(clock) - since));
      if (vault === undefined) return query(token, left, until, signal);
      // Its asset is not unwrapped again: a contract can respond differently each time.
      const price = isNative(vault.asset)
        ? ONE
        : (readCache(vault.asset) ?? (await query(vault.asset, left, until, signal)));
      if (price instanceof OrderBookError) return price;
      const value = { digits: price.digits * vault.rate.digits, scale: price.scale + vault.rate.scale };
      if (!isUsablePrice(value)) return createNoPriceError({ rejections: [], failed: false }, token);
      writeCache(token, [value]);
      return value;
    },
  };

  async function query(
    token: Address,
    timeout: number,
    until: 'end' | 'first response',
    signal: AbortSignal | undefined,
  ): Promise<Decimal | OrderBookError> {
    const subscription = subscribe(token, timeout);
    try {
      while (!subscription.over && (until === 'end' || subscription.responses.length === 0))
        await subscription.changed(signal);
    } catch (reason) {
      if (subscription.responses.length === 0) throw reason;
    } finally {
      subscription.unsubscribe();
    }
    const { responses, rejections, closed } = subscription;
    if (closed) return createShutdownError();
    if (responses.length > 0) return median(responses);
    return rejections[0] ?? createNoPriceError(subscription, token);
  }

  return prices;
}

import { isTemporary as isTemporaryRejection, OrderBookError } from '../errors.ts';
import { type Clock, isRecent, readMonotonic } from '../ports/clock.ts';
import { StoreError } from '../ports/store.ts';
import { NATIVE_MARKER, ONE_NATIVE } from '../protocol/chains.ts';
import { parseDecimal, toPricePerEther } from '../protocol/decimal.ts';
import type { Address } from '../protocol/hex.ts';
import type { AuctionPrices } from '../records/settled-solution.ts';

/** Returns the price of a token: atoms of native currency for one atom, as a plain decimal. */
export type PriceToken = (
  token: Address,
  signal: AbortSignal,
) => Promise<
  | { readonly status: 'priced'; readonly price: string }
  | { readonly status: 'rejected'; readonly error: OrderBookError }
>;

/** Maximum milliseconds that an auction waits for prices. */
const MAX_WAIT_MS = 2000;

/** Maximum milliseconds that it waits for the sources of a token. Then it takes the prices of those that responded. */
const MAX_TOKEN_WAIT_MS = 1000;

/** Milliseconds for which a missing price is cached. */
const UNPRICED_TTL = 60_000;

/** Milliseconds for which a failure of the sources of a token is cached. */
const FAILED_TTL = 5_000;

/** Milliseconds in which a token keeps its last price while its sources fail, and no missing price is cached. */
const PRICED_TTL = 600_000;

/** Maximum number of tokens that are priced for one auction, besides those with a recent price. */
const MAX_TOKENS = 500;

/** Maximum number of concurrent queries. */
const MAX_CONCURRENT = 16;

/**
 * Creates the pricing of auctions.
 *
 * @param nativePrice - `undefined`: no prices are queried.
 */
export function createAuctionPricing(
  { clock, onFailure }: { readonly clock: Clock; readonly onFailure: (failure: unknown) => void },
  wrappedNative: Address | undefined,
  nativePrice: PriceToken | undefined,
) {
  // Times are milliseconds of `readMonotonic`.
  const unpriced = new Map<Address, { readonly at: number; readonly ttl: number }>();
  /** The last price of each token. */
  const priced = new Map<Address, { readonly at: number; readonly price: string }>();
  /** Tokens whose sources did not respond in time, the last one at the end. */
  const slow = new Set<Address>();

  async function price(token: Address, signal: AbortSignal): Promise<string | undefined> {
    const result = await nativePrice?.(token, signal);
    // The token may have a price, so its orders must not be left out.
    if (result?.status === 'rejected' && result.error.code === 'InternalServerError')
      throw new StoreError('Closed', 'the book has closed during the pricing of an auction');
    const decimal = result?.status === 'priced' ? parseDecimal(result.price) : undefined;
    const scaled = decimal && toPricePerEther(decimal);
    if (scaled !== undefined && scaled !== '0') {
      priced.set(token, { at: readMonotonic(clock), price: scaled });
      return scaled;
    }
    const isTemporary = result?.status === 'rejected' && isTemporaryRejection(result.error);
    const missing = { at: readMonotonic(clock), ttl: isTemporary ? FAILED_TTL : UNPRICED_TTL };
    const last = priced.get(token);
    if (last === undefined) unpriced.set(token, missing);
    return isTemporary ? last?.price : undefined;
  }

  return {
    /** Whether orders without a price are left out of auctions. */
    required: nativePrice !== undefined,
    /** Returns the prices of tokens. Prices that are not known at the deadline are left out. */
    async find(tokens: Iterable<Address>): Promise<AuctionPrices> {
      for (const [token, { at, ttl }] of unpriced) if (!isRecent(clock, at, ttl)) unpriced.delete(token);
      for (const [token, { at }] of priced) if (!isRecent(clock, at, PRICED_TTL)) priced.delete(token);
      const native: [Address, string][] = wrappedNative === undefined ? [] : [[wrappedNative, ONE_NATIVE]];
      const prices = new Map<Address, string>(native);
      const all = new Set(tokens);
      if (all.delete(NATIVE_MARKER) && wrappedNative !== undefined) prices.set(NATIVE_MARKER, ONE_NATIVE);
      if (nativePrice === undefined) return toSorted(prices);
      const wanted = new Set([...all].filter((token) => token !== wrappedNative && !unpriced.has(token)));
      const fast = [...wanted].filter((token) => !slow.has(token));
      // New tokens follow those with a recent price, so that many of them cannot exclude others. Slow ones are last.
      const queue = fast.filter((token) => priced.has(token));
      queue.push(...fast.filter((token) => !priced.has(token)).slice(0, MAX_TOKENS));
      for (const token of slow) if (wanted.has(token)) queue.push(token);
      for (const token of slow) if (!all.has(token)) slow.delete(token);
      const deadline = new AbortController();
      const timeout = new OrderBookError('NoLiquidity', 'the price arrived after the deadline of the auction');
      const cancel = clock.after(MAX_WAIT_MS, () => deadline.abort(timeout));
      const answered = new Set<Address>();
      let closing: StoreError | undefined;
      const worker = async () => {
        for (let token = queue.shift(); token !== undefined; token = queue.shift()) {
          if (deadline.signal.aborted) return;
          const limit = new AbortController();
          const cancelLimit = clock.after(MAX_TOKEN_WAIT_MS, () => limit.abort(timeout));
          const signal = AbortSignal.any([deadline.signal, limit.signal]);
          try {
            const result = await price(token, signal);
            answered.add(token);
            if (result !== undefined) prices.set(token, result);
          } catch (failure) {
            if (failure instanceof StoreError && failure.code === 'Closed') closing = failure;
            else if (!signal.aborted) onFailure(failure);
          } finally {
            cancelLimit();
            slow.delete(token);
            if (signal.aborted) slow.add(token);
          }
        }
      };
      await Promise.all(Array.from({ length: MAX_CONCURRENT }, worker));
      cancel();
      if (closing !== undefined) throw closing;
      for (const token of wanted) {
        const last = answered.has(token) ? undefined : priced.get(token);
        if (last !== undefined) prices.set(token, last.price);
      }
      return toSorted(prices);
    },
  };
}

/** Sorts prices by token, so that their text does not depend on the order in which sources respond. */
function toSorted(prices: ReadonlyMap<Address, string>): AuctionPrices {
  return Object.fromEntries([...prices].sort(([a], [b]) => (a < b ? -1 : 1)));
}

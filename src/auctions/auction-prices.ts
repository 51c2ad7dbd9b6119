import { OrderBookError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import { parseDecimal, toPricePerEther } from '../protocol/decimal.ts';
import type { Address } from '../protocol/hex.ts';
import type { NativePriceResult } from '../quotes/quote-api.ts';

/** Wei for 10^18 atoms, decimal, by token. A token that nobody has a price for is not there. */
export type AuctionPrices = Readonly<Record<Address, string>>;

export interface AuctionPricing {
  /** Finds out what tokens are worth. Whatever is not known by the deadline is left out, and may be known the next time. */
  find(tokens: Iterable<Address>): Promise<AuctionPrices>;
}

export interface AuctionPricingContext {
  readonly clock: Clock;
  readonly wrappedNative: Address | undefined;
  /** Absent: nobody is asked. */
  readonly nativePrice: ((token: Address, signal: AbortSignal) => Promise<NativePriceResult>) | undefined;
  readonly onFailure: (failure: unknown) => void;
}

/** Milliseconds that an auction waits for prices. */
const WAIT = 2000;

/** A token that nobody had a price for is not asked about again for so many milliseconds. */
const UNPRICED = 60_000;

/** Tokens that are asked about for one auction. */
const MOST_ASKED = 500;
const AT_ONCE = 16;

/** What 10^18 atoms of native currency are worth. */
export const ONE_NATIVE = String(10n ** 18n);

export function createAuctionPricing(context: AuctionPricingContext): AuctionPricing {
  const { clock, wrappedNative, nativePrice, onFailure } = context;
  const unpriced = new Map<Address, number>();

  async function price(token: Address, signal: AbortSignal): Promise<string | undefined> {
    const result = await nativePrice?.(token, signal);
    const decimal = result?.status === 'priced' ? parseDecimal(result.price) : undefined;
    const scaled = decimal && toPricePerEther(decimal);
    if (scaled !== undefined && scaled !== '0') return scaled;
    unpriced.set(token, clock.now() + UNPRICED);
    return undefined;
  }

  return {
    async find(tokens) {
      for (const [token, until] of unpriced) if (until <= clock.now()) unpriced.delete(token);
      const native: [Address, string][] = wrappedNative === undefined ? [] : [[wrappedNative, ONE_NATIVE]];
      const prices = new Map<Address, string>(native);
      if (nativePrice === undefined) return Object.fromEntries(prices);
      const wanted = [...new Set(tokens)].filter((token) => token !== wrappedNative && !unpriced.has(token));
      const queue = wanted.slice(0, MOST_ASKED);
      const deadline = new AbortController();
      const late = new OrderBookError('NoLiquidity', 'the auction does not wait any longer');
      const cancel = clock.after(WAIT, () => deadline.abort(late));
      const worker = async () => {
        for (let token = queue.shift(); token !== undefined; token = queue.shift()) {
          if (deadline.signal.aborted) return;
          try {
            const found = await price(token, deadline.signal);
            if (found !== undefined) prices.set(token, found);
          } catch (failure) {
            if (!deadline.signal.aborted) onFailure(failure);
          }
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
      cancel();
      return Object.fromEntries(prices);
    },
  };
}

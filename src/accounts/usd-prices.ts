import { withDeadline } from '../concurrency/deadline.ts';
import { OrderBookError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { UsdPriceQuery, UsdPriceSource } from '../ports/prices.ts';
import type { Address } from '../protocol/hex.ts';
import { parseHex } from '../protocol/hex.ts';
import { assertKnownOptions } from '../validation/options.ts';

/** Whom to ask for prices in US dollars, and for how long to remember them. */
export interface UsdPricesOptions {
  /** Asked one after the other until one has a price. */
  readonly sources: readonly UsdPriceSource[];
  /** Milliseconds that a price is remembered for. Default 120000; 0: not at all. */
  readonly cacheTtl?: number;
  /** Prices that are remembered; those found longest ago are forgotten first. Default 10000. */
  readonly maxPrices?: number;
  /** Milliseconds that each source has. Default 5000. */
  readonly timeout?: number;
}

/** A price as it was found. */
export interface UsdPrice {
  /** Dollars for one whole token. */
  readonly price: number;
  /** Milliseconds that it is remembered for from now on. */
  readonly freshFor: number;
}

/** What tokens are worth in US dollars. */
export interface UsdPriceApi {
  /**
   * The price of a token, `0xeeee…ee` for native currency, or `undefined` when no source has one. Rejects with
   * `InvalidParameter` for what is no chain id or no address, never for what a source does.
   */
  get(chainId: number, token: string): Promise<UsdPrice | undefined>;
}

/** A source of prices that did not answer, or not with a price. */
export class UsdPriceError extends Error {
  override readonly name = 'UsdPriceError';
}

interface Remembered {
  readonly price: number;
  readonly at: number;
}

/**
 * Asks sources in their order. A price is remembered, that there is none is not: the next who asks asks the sources again.
 * The same question asked meanwhile shares the answer that is on its way.
 *
 * @throws TypeError naming the option that is unknown or malformed.
 */
export function createUsdPrices(
  options: UsdPricesOptions,
  { clock, onFailure }: { readonly clock: Clock; readonly onFailure: (failure: unknown) => void },
): UsdPriceApi {
  assertKnownOptions('createAccounts, usdPrices', options, ['sources', 'cacheTtl', 'maxPrices', 'timeout']);
  const { sources, cacheTtl: lifetime = 120_000, maxPrices = 10_000, timeout = 5_000 } = options;
  requireNumber('cacheTtl', lifetime, 0);
  requireNumber('maxPrices', maxPrices, 1);
  requireNumber('timeout', timeout, 1);
  if (!Array.isArray(sources) || sources.some((source) => typeof source?.usdPrice !== 'function')) {
    throw new TypeError('createAccounts: usdPrices.sources must be a list of sources');
  }
  const remembered = new Map<string, Remembered>();
  const asking = new Map<string, Promise<UsdPrice | undefined>>();

  async function ask(query: UsdPriceQuery, key: string): Promise<UsdPrice | undefined> {
    for (const source of sources) {
      const price = await askOne(source, query);
      if (price === undefined) continue;
      remember(key, price);
      return { price, freshFor: lifetime };
    }
    return undefined;
  }

  async function askOne(source: UsdPriceSource, query: UsdPriceQuery): Promise<number | undefined> {
    try {
      const price = await withDeadline(clock, timeout, (signal) => source.usdPrice(query, { signal }));
      if (price === undefined || (Number.isFinite(price) && price > 0)) return price;
      throw new TypeError(`answered ${String(price)}`);
    } catch (cause) {
      onFailure(
        new UsdPriceError(`${source.name} has no answer for ${query.token} on chain ${query.chainId}`, { cause }),
      );
      return undefined;
    }
  }

  function remember(key: string, price: number): void {
    if (lifetime === 0) return;
    remembered.delete(key);
    remembered.set(key, { price, at: clock.now() });
    const [oldest] = remembered.keys();
    if (remembered.size > maxPrices && oldest !== undefined) remembered.delete(oldest);
  }

  function recall(key: string): UsdPrice | undefined {
    const known = remembered.get(key);
    if (known === undefined) return undefined;
    const age = clock.now() - known.at;
    return age >= 0 && age < lifetime ? { price: known.price, freshFor: lifetime - age } : undefined; // a clock may step back
  }

  return {
    async get(chainId, text) {
      const query = { chainId: requireChainId(chainId), token: requireToken(text) };
      const key = `${query.chainId} ${query.token}`;
      const known = recall(key);
      if (known !== undefined) return known;
      let answer = asking.get(key);
      if (answer === undefined) {
        answer = ask(query, key).finally(() => asking.delete(key));
        asking.set(key, answer);
      }
      return answer;
    },
  };
}

function requireChainId(chainId: number): number {
  if (Number.isSafeInteger(chainId) && chainId > 0) return chainId;
  throw new OrderBookError('InvalidParameter', 'chainId: must be a whole number', { parameter: 'chainId' });
}

function requireToken(text: string): Address {
  const token = parseHex(text, 20);
  if (token !== undefined) return token;
  throw new OrderBookError('InvalidParameter', 'token: must be 0x and 40 hex digits', { parameter: 'token' });
}

function requireNumber(name: string, value: number, least: number): void {
  if (Number.isFinite(value) && value >= least) return;
  throw new TypeError(`createAccounts: usdPrices.${name} must be a number from ${least} up`);
}

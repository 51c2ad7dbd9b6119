import type { AccountTools } from '../../account-tools/account-tools.ts';
import { setBounded } from '../../concurrency/bounded-map.ts';
import { createWorker } from '../../concurrency/lifecycle.ts';
import { readMonotonic } from '../../ports/clock.ts';
import type { PriceHistorySource } from '../../ports/price-history.ts';
import type { UsdPriceQuery } from '../../ports/prices.ts';
import { type Address, parseHex } from '../../protocol/hex.ts';
import { createObservedPrices, type ObservedPrices } from './observed-prices.ts';
import type { SlippageOptions } from './slippage-options.ts';
import { createTradeFollower, type TradeFollower } from './trade-follower.ts';
import { MIN_POINTS, PERIOD } from './volatility.ts';

/** Maximum number of tokens whose price is read in each period. */
const MAX_SAMPLED = 32;

/** Milliseconds for which the price of a token is read after its history was requested. */
const SAMPLED_FOR = 3_600_000;

/** The history of the books: the prices of their trades, and prices in US dollars that were read. */
export interface OwnHistory extends PriceHistorySource {
  /** Records a price that was read from a source. */
  addPrice(query: UsdPriceQuery, price: number): void;
  stop(): Promise<void>;
}

/**
 * Creates the history of the books. It reads their logs from the first request on. The prices of requested tokens are
 * then read in each period, so that a book with few trades has a history as well.
 *
 * @throws TypeError for a malformed dollar token.
 */
export function createOwnHistory({
  books,
  tokens,
  clock,
  onFailure,
  assertStarted,
  dollarTokens,
  readPrice,
}: Pick<AccountTools, 'books' | 'tokens' | 'clock' | 'onFailure' | 'assertStarted'> & {
  readonly dollarTokens: SlippageOptions['dollarTokens'];
  /** Reads the current price of a token, which calls `addPrice`. */
  readonly readPrice: (query: UsdPriceQuery) => Promise<unknown>;
}): OwnHistory {
  const dollars = parseDollarTokens(dollarTokens ?? {});
  const chains = new Map<number, ObservedPrices>();
  const followers = new Map<number, readonly TradeFollower[]>();
  /** The tokens to sample, with the time of their last request, in milliseconds of `readMonotonic`. */
  const sampled = new Map<string, { readonly query: UsdPriceQuery; readonly at: number }>();

  function getPrices(chainId: number): ObservedPrices {
    const dollar = dollars.get(chainId);
    const prices = chains.get(chainId) ?? createObservedPrices(new Set(dollar === undefined ? [] : [dollar.token]));
    chains.set(chainId, prices);
    return prices;
  }

  function getFollowers(chainId: number): readonly TradeFollower[] {
    const known = followers.get(chainId);
    if (known !== undefined) return known;
    const prices = getPrices(chainId);
    const ofChain = books.filter(({ book }) => book.chainId === chainId);
    const created = ofChain.map(({ book }) => createTradeFollower(book, prices, { clock, onFailure }));
    followers.set(chainId, created);
    return created;
  }

  async function readDecimals(chainId: number, token: Address): Promise<number | undefined> {
    const dollar = dollars.get(chainId);
    if (dollar?.token === token) return dollar.decimals;
    try {
      return (await tokens(chainId, token))?.decimals;
    } catch (failure) {
      onFailure(failure);
      return undefined;
    }
  }

  let sampling = false;
  const sampler = createWorker({
    clock,
    interval: PERIOD,
    runAtStart: false,
    onFailure,
    async run(isStopping) {
      for (const [key, { query, at }] of sampled) {
        if (isStopping()) return undefined;
        if (readMonotonic(clock) - at > SAMPLED_FOR) sampled.delete(key);
        else await readPrice(query);
      }
      return undefined;
    },
  });

  function sample(query: UsdPriceQuery): void {
    const key = `${query.chainId} ${query.token}`;
    setBounded(sampled, key, { query, at: readMonotonic(clock) }, MAX_SAMPLED);
    if (!sampling) sampler.start();
    sampling = true;
  }

  return {
    name: 'own trades and prices',
    addPrice: ({ chainId, token }, price) => getPrices(chainId).addPrice(token, price, clock.now()),
    async priceHistory(query) {
      const { chainId, token } = query;
      assertStarted(); // an earlier source can have responded after the close
      sample(query);
      await Promise.all(getFollowers(chainId).map((follower) => follower.catchUp()));
      const decimals = (each: Address) => readDecimals(chainId, each);
      const points = await getPrices(chainId).history(token, decimals, clock.now());
      return points.length < MIN_POINTS ? undefined : points;
    },
    async stop() {
      await sampler.stop();
      sampling = false;
      for (const follower of [...followers.values()].flat()) await follower.stop();
      followers.clear();
    },
  };
}

function parseDollarTokens(table: NonNullable<SlippageOptions['dollarTokens']>) {
  const dollars = new Map<number, { readonly token: Address; readonly decimals: number }>();
  for (const [chainId, { token: text, decimals }] of Object.entries(table)) {
    const token = parseHex(text, 20);
    if (token === undefined || !Number.isInteger(decimals) || decimals < 0 || decimals > 255) {
      throw new TypeError(
        `createAccounts: slippage.dollarTokens must be addresses with decimals, got ${text} of chain ${chainId}`,
      );
    }
    dollars.set(Number(chainId), { token, decimals });
  }
  return dollars;
}

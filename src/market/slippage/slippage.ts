import { getProductionBook } from '../../account-tools/account-books.ts';
import { AccountError } from '../../account-tools/account-error.ts';
import type { AccountTools } from '../../account-tools/account-tools.ts';
import { createSourceCache } from '../../account-tools/source-cache.ts';
import { toWrapped } from '../../account-tools/wrapped-token.ts';
import type { PriceHistorySource, PricePoint } from '../../ports/price-history.ts';
import type { UsdPriceQuery } from '../../ports/prices.ts';
import { NATIVE_MARKER } from '../../protocol/chains.ts';
import type { Address } from '../../protocol/hex.ts';
import { assertKnownOptions, requireInteger } from '../../validation/options.ts';
import { requireChainId, requireToken } from '../../validation/parameters.ts';
import { type UsdPriceApi, UsdPriceError } from '../usd-prices.ts';
import type { SlippageOptions } from './slippage-options.ts';
import type { TokenMarket } from './volatility.ts';
import { computePairVolatility, computeTokenVolatility, PERIOD, toBasisPoints } from './volatility.ts';

/** The order for which a tolerance is requested. Each member is optional. */
export interface SlippageOrder {
  readonly kind?: 'sell' | 'buy';
  /** Atoms. */
  readonly sellAmount?: bigint;
  /** Atoms. */
  readonly buyAmount?: bigint;
  /** Seconds until the order expires. */
  readonly validFor?: number;
}

/** A suggested slippage tolerance. */
export interface SlippageTolerance {
  /** Basis points, 0 to 10000. */
  readonly slippageBps: number;
  /** Whether the volatility of the pair is known. Otherwise the tolerance is the default. */
  readonly known: boolean;
}

/** The prices of a token in the last day, and its volatility over 5 minutes. */
export interface TokenVolatility {
  /** Lower case. That of the wrapped token for native currency. */
  readonly token: Address;
  /** Oldest first. */
  readonly history: readonly PricePoint[];
  /** US dollars for one whole token. */
  readonly spot: number;
  /** Relative to `spot`. */
  readonly volatility: number;
}

/** Slippage methods. */
export interface SlippageApi {
  /**
   * Returns the suggested slippage tolerance of a pair. Rejects with `InvalidParameter` for an invalid chain id or
   * address, and with an `AccountError` of status 400 for a chain without a book. Failures of sources do not reject.
   */
  get(chainId: number, base: string, quote: string, order?: SlippageOrder): Promise<SlippageTolerance>;
  /** Returns the volatility of a token, `undefined` if it is unknown. Rejects like `get`. */
  volatility(chainId: number, token: string): Promise<TokenVolatility | undefined>;
}

/** The slippage methods, and the histories that they use. */
export interface SlippageModule extends SlippageApi {
  /** Returns the prices of a token in the last day; `undefined` if no source has them. */
  readHistory(query: UsdPriceQuery): Promise<readonly PricePoint[] | undefined>;
}

/** Milliseconds for which a history is cached. */
const HISTORY_TTL = 120_000;

/** Maximum number of cached histories. */
const MAX_HISTORIES = 1_000;

/** Maximum age of the newest price of a history, in milliseconds. */
const MAX_AGE = 86_400_000;

/** Time limit per source of histories, in milliseconds. */
const TIMEOUT = 5_000;

/** Largest tolerance in basis points. */
const MAX_BPS = 10_000;

/** Largest tolerance that follows from volatility. Prices that demand more are not reliable. */
const MAX_COMPUTED_BPS = 5_000;

/** Creates the slippage methods. @throws TypeError naming the option that is unknown or invalid. */
export function createSlippage({
  options,
  usdPrices,
  ownHistory,
  ...tools
}: Pick<AccountTools, 'books' | 'clock' | 'onFailure' | 'observer' | 'assertStarted'> & {
  readonly options: SlippageOptions;
  readonly usdPrices: UsdPriceApi;
  /** The own history of the books. It is queried last. */
  readonly ownHistory: PriceHistorySource;
}): SlippageModule {
  const { books, clock, onFailure, observer, assertStarted } = tools;
  assertKnownOptions('createAccounts, slippage', options, ['histories', 'dollarTokens', 'defaultBps']);
  const { histories = [], defaultBps = 50 } = options;
  if (!Array.isArray(histories) || histories.some((source) => typeof source?.priceHistory !== 'function')) {
    throw new TypeError('createAccounts: slippage.histories must be a list of sources');
  }
  requireInteger(`createAccounts: slippage.defaultBps`, defaultBps, 0, MAX_BPS);
  const cache = createSourceCache<UsdPriceQuery, readonly PricePoint[]>({
    sources: [...histories, ownHistory].map((source: PriceHistorySource) => ({
      name: source.name,
      read: async (query, call) => selectHistory(await source.priceHistory(query, call), clock.now(), onFailure),
      onFailure: ({ chainId, token }, cause) =>
        onFailure(new UsdPriceError(`${source.name} failed for ${token} on chain ${chainId}`, { cause })),
    })),
    key: ({ chainId, token }) => `${chainId} ${token}`,
    ttl: HISTORY_TTL,
    maxEntries: MAX_HISTORIES,
    timeout: TIMEOUT,
    clock,
    subject: 'priceHistory',
    observer,
  });

  async function readMarket(chainId: number, token: Address): Promise<TokenMarket> {
    const [found, spot] = await Promise.all([
      cache.get({ chainId, token }),
      usdPrices.get(chainId, token).catch(() => undefined), // the failure was reported
    ]);
    const history = found?.value;
    // Without a price source, the newest price of the history is the current one.
    return { history, spot: spot?.price ?? history?.at(-1)?.price };
  }

  async function readVolatility(chainId: number, base: Address, quote: Address): Promise<number | undefined> {
    const isNative = (token: Address) => token === NATIVE_MARKER;
    const [baseMarket, quoteMarket] = await Promise.all([
      readMarket(chainId, toWrapped(chainId, base)),
      readMarket(chainId, toWrapped(chainId, quote)),
    ]);
    // As in production, a pair with native currency has the volatility of its most volatile token.
    const pair = isNative(base) || isNative(quote) ? undefined : computePairVolatility(baseMarket, quoteMarket);
    if (pair !== undefined) return pair;
    const [ofBase, ofQuote] = [computeTokenVolatility(baseMarket), computeTokenVolatility(quoteMarket)];
    return ofBase === undefined || ofQuote === undefined ? undefined : Math.max(ofBase, ofQuote);
  }

  function requireBook(chainId: number): void {
    if (getProductionBook(books, requireChainId(chainId)) === undefined)
      throw new AccountError(400, 'Unsupported chain');
    assertStarted();
  }

  return {
    async volatility(chainId, text) {
      const token = toWrapped(chainId, requireToken(text));
      requireBook(chainId);
      const market = await readMarket(chainId, token);
      const [volatility, { history, spot }] = [computeTokenVolatility(market), market];
      if (volatility === undefined || history === undefined || spot === undefined) return undefined;
      return { token, history, spot, volatility };
    },
    readHistory: async ({ chainId, token }) => (await cache.get({ chainId, token: toWrapped(chainId, token) }))?.value,
    async get(chainId, baseText, quoteText, order = {}) {
      const [base, quote] = [requireToken(baseText, 'baseToken'), requireToken(quoteText, 'quoteToken')];
      requireBook(chainId);
      // Equal prices are those of a source that is not updated, or of a pegged pair, whose quotes differ nevertheless.
      const volatility = (await readVolatility(chainId, base, quote)) || undefined;
      const computed = volatility === undefined ? defaultBps : toBasisPoints(volatility * getPeriodFactor(order));
      const bps = volatility === undefined ? computed : Math.min(MAX_COMPUTED_BPS, computed);
      const slippageBps = Math.min(MAX_BPS, Math.max(bps, getSmallestBps(order)));
      return { slippageBps, known: volatility !== undefined };
    },
  };
}

/** Volatility grows with the square root of time. An order that expires within 5 minutes has less time to move. */
function getPeriodFactor({ validFor }: SlippageOrder): number {
  if (validFor === undefined || validFor <= 0) return 1;
  return Math.min(1, Math.sqrt((validFor * 1000) / PERIOD));
}

/** Returns the tolerance that allows one atom of the amount that may change. It matters for few decimals. */
function getSmallestBps({ kind, sellAmount, buyAmount }: SlippageOrder): number {
  const amount = kind === 'buy' ? sellAmount : buyAmount;
  if (kind === undefined || amount === undefined || amount <= 0n) return 0;
  return Number((BigInt(MAX_BPS) + amount - 1n) / amount);
}

/**
 * Returns the valid prices of a history, oldest first. The others are reported: one of them would hide all.
 *
 * @throws TypeError if the history is not a list, has malformed prices only, or none of the last day. Times in another
 * unit are years away. Times in seconds would multiply the volatility by 32, those in microseconds divide it by 32.
 */
function selectHistory(
  points: readonly PricePoint[] | undefined,
  now: number,
  report: (failure: unknown) => void,
): readonly PricePoint[] | undefined {
  if (points === undefined || points.length === 0) return undefined;
  const valid = Array.isArray(points) ? points.filter(isPricePoint).sort((a, b) => a.at - b.at) : [];
  const newest = valid.at(-1);
  if (newest === undefined) throw new TypeError('the history must be a list of times and positive prices');
  // A clock that is behind makes no price worse.
  if (newest.at < now - MAX_AGE || newest.at > 2 * now)
    throw new TypeError('the newest price of the history must be of the last day, in milliseconds since 1970');
  const malformed = points.length - valid.length;
  if (malformed > 0) report(new TypeError(`${malformed} points of the history have no time or no positive price`));
  return valid;
}

function isPricePoint(value: unknown): value is PricePoint {
  const { at, price } = Object(value) as { readonly [K in keyof PricePoint]?: unknown };
  return Number.isFinite(at) && Number.isFinite(price) && Number(price) > 0;
}

import { OrderBookError } from '../errors.ts';
import { refuseUnknownOptions } from '../options.ts';
import type { HostContext } from '../orders/host.ts';
import type { Limits, TokenPolicy } from '../orders/limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { EstimateFunction, Estimator, GasPrice } from '../ports/estimator.ts';
import type { Store } from '../ports/store.ts';
import { formatDecimal } from '../protocol/decimal.ts';
import type { Address } from '../protocol/hex.ts';
import { parseHex } from '../protocol/hex.ts';
import { createFlights } from './flights.ts';
import { createGasPrice } from './gas-price.ts';
import { createKeeper } from './keep.ts';
import { createNativePrices } from './native-price.ts';
import type { QuoteResult } from './quote.ts';
import { requestQuote } from './quote.ts';
import type { QuoteRequest } from './request.ts';
import type { SourceCounters, SourceObservation } from './sources.ts';
import { createSources, nameEstimators } from './sources.ts';
import type { QuoteStreamResult } from './stream.ts';
import { streamQuotes } from './stream.ts';
import { createSweep } from './sweep.ts';

/** How a book quotes. */
export interface QuoteOptions {
  /** Where prices come from. All are asked side by side, and the best answer, its gas paid, wins. */
  readonly estimators: readonly (Estimator | EstimateFunction)[];
  /** Wei for one unit of gas, or a function that finds it out when a quote is asked for, such as `() => client.getGasPrice()`. */
  readonly gasPrice: GasPrice;
  /**
   * A fee on the volume, in parts per million from 0 to 999999, or a function that tells it of two tokens (native currency to be bought
   * is 0xeeee…ee), `undefined` for none. Stored quotes are without it. Default: none.
   */
  readonly volumeFee?: number | ((sellToken: Address, buyToken: Address) => number | undefined);
  /** Milliseconds that the sources have unless a request says otherwise. Default 5000. */
  readonly timeout?: number;
  /** Milliseconds that a request may ask for at most. Default 10000. */
  readonly maxTimeout?: number;
  /** Seconds that an order can be linked to a quote. Default 60. */
  readonly expiry?: number;
  /** The same for orders that are placed on chain. Default 600. */
  readonly onchainExpiry?: number;
  /** Atoms of wrapped native currency that sources are asked to buy to learn what a token is worth. Default 10^17. */
  readonly priceAmount?: bigint;
  /**
   * Milliseconds, from when they were asked, for which the sources' answers to a trade are given to all who ask the same, once all
   * have answered; and so the price of gas. Default 500; 0: only while they are being asked.
   */
  readonly answerLifetime?: number;
  /** Milliseconds that the price of a token is remembered for. Default 30000; 0: not at all. */
  readonly priceLifetime?: number;
}

const OPTIONS = [
  ...['estimators', 'gasPrice', 'volumeFee', 'timeout', 'maxTimeout'],
  ...['expiry', 'onchainExpiry', 'answerLifetime', 'priceAmount', 'priceLifetime'],
];

export interface QuoteCallOptions {
  /** Aborted when nobody waits for the answer any more. The call rejects with its reason. */
  readonly signal?: AbortSignal;
}

/** What became of asking for a token's price. */
export type NativePriceResult =
  /** Atoms of native currency for one atom of the token, as a plain decimal. */
  | { readonly status: 'priced'; readonly price: string }
  | { readonly status: 'rejected'; readonly error: OrderBookError };

/** The verbs on quotes. Refusals are returned; only faults and aborted calls reject. */
export interface Quotes {
  /** Quotes a trade: `InvalidParameter`, `NoLiquidity`, `UnsupportedToken`, `SellAmountDoesNotCoverFee` and what orders are refused for. */
  request(request: QuoteRequest, options?: QuoteCallOptions): Promise<QuoteResult>;
  /** Quotes a trade as answers come in: each quote is better than all before it. */
  stream(request: QuoteRequest, options?: QuoteCallOptions): Promise<QuoteStreamResult>;
  /** What a token is worth in native currency. */
  nativePrice(token: string, options?: QuoteCallOptions): Promise<NativePriceResult>;
  /** How often each outcome has been observed of each source, by its name. */
  counters(): Readonly<Record<string, SourceCounters>>;
}

/** What quoting takes of the book. */
export interface QuotesContext extends HostContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly tokens: TokenPolicy;
  readonly observe: (observation: SourceObservation) => void;
}

/** The verbs, and what the book does with them when it starts and closes. */
export interface QuotesPart {
  readonly verbs: Quotes;
  start(): void;
  /** Ends what runs: whoever waits is told to come back later. */
  stop(): Promise<void>;
}

/** @throws TypeError naming the option that is unknown or malformed. */
export function createQuotes(options: QuoteOptions, book: QuotesContext): QuotesPart {
  refuseUnknownOptions('createOrderBook, quotes', options, OPTIONS);
  const { store, clock, limits, tokens, host, remote, onFault, observe } = book;
  const { wrappedNative } = tokens;
  const lifetime = duration(options, 'answerLifetime', 500);
  const flights = createFlights(clock, lifetime);
  const estimators = nameEstimators(options.estimators);
  const priceAmount = options.priceAmount ?? 10n ** 17n;
  if (typeof priceAmount !== 'bigint' || priceAmount <= 0n) throw malformed('priceAmount', 'a positive bigint');
  const sources = createSources({ estimators, clock, flights, wrappedNative, priceAmount, observe, onFault });
  const usual = duration(options, 'timeout', 5_000);
  const prices = createNativePrices({
    ...{ sources, clock, wrappedNative, timeout: usual },
    ttl: duration(options, 'priceLifetime', 30_000),
  });
  const lifetimes = {
    standard: duration(options, 'expiry', 60) * 1000,
    onchain: duration(options, 'onchainExpiry', 600) * 1000,
  };
  const context = {
    ...{ documents: store.appData, clock, limits, tokens, host, remote, sources, prices, onFault },
    gasPrice: createGasPrice(options.gasPrice, { clock, timeout: usual, lifetime, onFault }),
    keeper: createKeeper(store.quotes, clock, lifetimes),
    volumeFee: volumeFeeOf(options),
    timeouts: { usual, longest: duration(options, 'maxTimeout', 10_000) },
  };
  const sweep = createSweep(store.quotes, clock, onFault);

  return {
    verbs: {
      request: (request, call) => requestQuote(request, context, call?.signal),
      stream: (request, call) => streamQuotes(request, context, call?.signal),
      async nativePrice(text, call) {
        const token = parseToken(text, tokens);
        const price = token instanceof OrderBookError ? token : await prices.get(token, usual, 'end', call?.signal);
        return price instanceof OrderBookError
          ? { status: 'rejected', error: price }
          : { status: 'priced', price: formatDecimal(price) };
      },
      counters: sources.counters,
    },
    start: sweep.start,
    async stop() {
      flights.close();
      await sweep.stop();
    },
  };
}

/** A book without sources: it quotes nothing, and says so. */
export const NO_SOURCES: QuoteOptions = { estimators: [], gasPrice: 0 };

function parseToken(text: string, { deniedTokens }: TokenPolicy): Address | OrderBookError {
  const token = parseHex(text, 20);
  if (token === undefined) {
    return new OrderBookError('InvalidParameter', 'token: must be 0x and 40 hex digits', { parameter: 'token' });
  }
  if (!deniedTokens.has(token)) return token;
  return new OrderBookError('UnsupportedToken', `token ${token} is deny-listed`, { token });
}

/** What the timers of common platforms can count, in milliseconds. */
const LONGEST = 2 ** 31 - 1;

function duration(
  options: QuoteOptions,
  name: 'timeout' | 'maxTimeout' | 'expiry' | 'onchainExpiry' | 'answerLifetime' | 'priceLifetime',
  standard: number,
): number {
  const value = options[name] ?? standard;
  if (Number.isSafeInteger(value) && value >= 0 && value <= LONGEST) return value;
  throw malformed(name, `a whole number from 0 to ${LONGEST}`);
}

const MILLION = 1_000_000;

function volumeFeeOf({ volumeFee }: QuoteOptions): (sellToken: Address, buyToken: Address) => number | undefined {
  const judge = (ppm: number | undefined) => {
    if (ppm === undefined || (Number.isSafeInteger(ppm) && ppm >= 0 && ppm < MILLION)) return ppm;
    throw malformed('volumeFee', `a whole number from 0 to ${MILLION - 1}, in parts per million`);
  };
  if (typeof volumeFee === 'function') return (sellToken, buyToken) => judge(volumeFee(sellToken, buyToken));
  const fixed = judge(volumeFee);
  return () => fixed;
}

function malformed(name: string, expected: string): TypeError {
  return new TypeError(`createOrderBook: quotes.${name} must be ${expected}`);
}

import type { DecimalInput, EstimateFunction, Estimator, GasPrice } from '../ports/estimator.ts';
import type { Decimal } from '../protocol/decimal.ts';
import { parseDecimal } from '../protocol/decimal.ts';
import type { Address } from '../protocol/hex.ts';
import { MAX_UINT256 } from '../protocol/uint256.ts';
import { assertKnownOptions } from '../validation/options.ts';

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
  readonly quoteCacheTtl?: number;
  /** Milliseconds that the price of a token is remembered for. Default 30000; 0: not at all. */
  readonly priceCacheTtl?: number;
}

const OPTIONS = [
  'estimators',
  'gasPrice',
  'volumeFee',
  'timeout',
  'maxTimeout',
  'expiry',
  'onchainExpiry',
  'quoteCacheTtl',
  'priceAmount',
  'priceCacheTtl',
];

/** The price of gas, or who tells it. */
export type ReadGasPriceOption = Decimal | Exclude<GasPrice, DecimalInput>;

/** The options of quoting, read. Durations are milliseconds. */
export interface ReadQuoteOptions {
  readonly estimators: readonly Estimator[];
  readonly gasPrice: ReadGasPriceOption;
  readonly volumeFee: (sellToken: Address, buyToken: Address) => number | undefined;
  readonly timeouts: { readonly usual: number; readonly longest: number };
  readonly lifetimes: { readonly standard: number; readonly onchain: number };
  readonly priceAmount: bigint;
  readonly quoteCacheTtl: number;
  readonly priceCacheTtl: number;
}

/** @throws TypeError naming the option that is unknown or malformed. */
export function readQuoteOptions(options: QuoteOptions): ReadQuoteOptions {
  assertKnownOptions('createOrderBook, quotes', options, OPTIONS);
  const { priceAmount = 10n ** 17n } = options;
  const gasPrice = typeof options.gasPrice === 'function' ? options.gasPrice : readPrice(options.gasPrice);
  if (typeof priceAmount !== 'bigint' || priceAmount <= 0n) throw malformed('priceAmount', 'a positive bigint');
  if (gasPrice === undefined) throw malformed('gasPrice', 'a decimal number of wei below 2^256');
  return {
    estimators: nameEstimators(options.estimators),
    gasPrice,
    priceAmount,
    volumeFee: volumeFeeOf(options),
    timeouts: { usual: duration(options, 'timeout', 5_000), longest: duration(options, 'maxTimeout', 10_000) },
    lifetimes: {
      standard: duration(options, 'expiry', 60) * 1000,
      onchain: duration(options, 'onchainExpiry', 600) * 1000,
    },
    quoteCacheTtl: duration(options, 'quoteCacheTtl', 500),
    priceCacheTtl: duration(options, 'priceCacheTtl', 30_000),
  };
}

/** A book without sources: it quotes nothing, and says so. */
export const NO_SOURCES: QuoteOptions = { estimators: [], gasPrice: 0 };

/** Reads a price of gas; `undefined` for what is no decimal number below 2^256. */
export function readPrice(value: DecimalInput): Decimal | undefined {
  const price = parseDecimal(value);
  return price !== undefined && price.digits / 10n ** BigInt(price.scale) <= MAX_UINT256 ? price : undefined;
}

/**
 * Gives every source a name of its own, so that observations tell them apart.
 *
 * @throws TypeError when one is not a source.
 */
function nameEstimators(estimators: readonly (Estimator | EstimateFunction)[]): Estimator[] {
  const taken = new Set<string>();
  return estimators.map((given, i) => {
    const estimator = typeof given === 'function' ? { name: given.name, estimate: given } : given;
    if (typeof estimator?.estimate !== 'function') {
      throw new TypeError(`createOrderBook: quotes.estimators[${i}] must be a function or have an estimate function`);
    }
    const wished = estimator.name || `estimator ${i + 1}`;
    let name = wished;
    for (let n = 2; taken.has(name); n++) name = `${wished} ${n}`;
    taken.add(name);
    if (name === estimator.name) return estimator;
    const { nativePrice } = estimator as Estimator; // a bare function has none
    const estimate: EstimateFunction = (trade, context) => estimator.estimate(trade, context);
    if (nativePrice === undefined) return { name, estimate };
    return { name, estimate, nativePrice: (token, context) => nativePrice.call(estimator, token, context) };
  });
}

/** What the timers of common platforms can count, in milliseconds. */
const LONGEST = 2 ** 31 - 1;

function duration(
  options: QuoteOptions,
  name: 'timeout' | 'maxTimeout' | 'expiry' | 'onchainExpiry' | 'quoteCacheTtl' | 'priceCacheTtl',
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

import type { OrderQuoting } from '../admission/order-quoting.ts';
import type { DecimalInput, EstimateFunction, Estimator, GasPrice } from '../ports/estimator.ts';
import type { QuoteVerifier } from '../ports/quote-verifier.ts';
import type { VaultReader } from '../ports/vaults.ts';
import { type Decimal, parseDecimal } from '../protocol/decimal.ts';
import { formatValue } from '../protocol/format-value.ts';
import type { Address } from '../protocol/hex.ts';
import { MAX_UINT256 } from '../protocol/uint256.ts';
import { assertFunctions, assertKnownOptions, MAX_TIMER, requireInteger } from '../validation/options.ts';
import type { GasBounds } from './quote-candidate.ts';

/** Options of quoting. */
export interface QuoteOptions {
  /** The estimators. All are called concurrently, and the best result after gas costs wins. */
  readonly estimators: readonly (Estimator | EstimateFunction)[];
  /**
   * Simulates the settlement of each quote, such as `viemQuoteVerifier(client)`. Quotes are then `verified` only after
   * a simulation, with the observed amount and gas, and `priceQuality: 'verified'` requires one. Default: none, and
   * estimators report whether their estimate is verified.
   */
  readonly verifier?: QuoteVerifier;
  /**
   * Reads vaults (EIP-4626), such as `viemVaults(client)`. The native price of a share is that of its assets, instead
   * of the prices of the estimators. Default: none, and vaults are priced as any other token.
   */
  readonly vaults?: VaultReader;
  /**
   * Bounds of the gas of estimates that are not verified, in gas units: a lower or higher claim counts as the bound.
   * Default: none.
   */
  readonly unverifiedGas?: { readonly min?: number; readonly max?: number };
  /** Gas price in wei per unit, or a function that is called for each quote, such as `() => client.getGasPrice()`. */
  readonly gasPrice: GasPrice;
  /**
   * Volume fee in parts per million, from 0 to 999999, or a function of the two tokens that returns it. Native currency
   * on the buy side is `0xeeee…ee`; `undefined` means no fee. Stored quotes do not contain it. Default: none.
   */
  readonly volumeFee?: number | ((sellToken: Address, buyToken: Address) => number | undefined);
  /** Time limit for the estimators, in milliseconds. Default: 5000. */
  readonly timeout?: number;
  /** Maximum time limit that a request may set, in milliseconds. Default: 10000. */
  readonly maxTimeout?: number;
  /**
   * Time limit for the quote of an order that is submitted without a matching quote, in milliseconds. A missing price
   * never rejects the order. 0: such orders have no quote. While an estimator does not respond for a pair of tokens,
   * its orders wait for a twentieth of this time. Default: 1000.
   */
  readonly orderTimeout?: number;
  /** Time for which an order can be linked to a quote, in seconds. Default: 60. */
  readonly expiry?: number;
  /** Like `expiry`, for orders that are placed on chain. Default: 600. */
  readonly onchainExpiry?: number;
  /** Atoms of wrapped native currency that are bought in an estimate to derive a token's price. Default: 10^17. */
  readonly priceAmount?: bigint;
  /**
   * Time from the start for which complete estimates of a trade are reused for identical requests, in milliseconds.
   * Also applies to the gas price. Default: 500; 0: only concurrent requests share them.
   */
  readonly quoteCacheTtl?: number;
  /** Time for which the price of a token is cached, in milliseconds. Default: 30000; 0: no cache. */
  readonly priceCacheTtl?: number;
}

const OPTIONS = [
  'estimators',
  'verifier',
  'vaults',
  'unverifiedGas',
  'gasPrice',
  'volumeFee',
  'timeout',
  'maxTimeout',
  'orderTimeout',
  'expiry',
  'onchainExpiry',
  'quoteCacheTtl',
  'priceAmount',
  'priceCacheTtl',
];

/** A fixed gas price, or the function that returns it. */
export type ParsedGasPrice = Decimal | Exclude<GasPrice, DecimalInput>;

/** The parsed options of quoting. Durations are in milliseconds. */
export type ParsedQuoteOptions = ReturnType<typeof parseQuoteOptions>;

/** Parses the options. @throws TypeError naming the option that is unknown or malformed. */
export function parseQuoteOptions(options: QuoteOptions) {
  assertKnownOptions('createOrderBook, quotes', options, OPTIONS);
  const { priceAmount = 10n ** 17n } = options;
  assertFunctions('createOrderBook: quotes.vaults', options.vaults, ['readShare']);
  const gasPrice = typeof options.gasPrice === 'function' ? options.gasPrice : parsePrice(options.gasPrice);
  if (typeof priceAmount !== 'bigint' || priceAmount <= 0n) throw createOptionError('priceAmount', 'a positive bigint');
  if (gasPrice === undefined) {
    throw createOptionError('gasPrice', `a decimal number of wei below 2^256, got ${formatValue(options.gasPrice)}`);
  }
  return {
    estimators: nameEstimators(options.estimators),
    verifier: options.verifier,
    vaults: options.vaults,
    unverifiedGas: toGasBounds(options.unverifiedGas ?? {}),
    gasPrice,
    priceAmount,
    volumeFee: toVolumeFee(options),
    timeouts: { usual: duration(options, 'timeout', 5_000), longest: duration(options, 'maxTimeout', 10_000) },
    lifetimes: {
      standard: duration(options, 'expiry', 60) * 1000,
      onchain: duration(options, 'onchainExpiry', 600) * 1000,
    },
    quoteCacheTtl: duration(options, 'quoteCacheTtl', 500),
    priceCacheTtl: duration(options, 'priceCacheTtl', 30_000),
  };
}

/** Returns whether orders are linked with quotes, and how orders without a matching quote are quoted. */
export function getOrderQuoting(
  options: QuoteOptions | undefined,
  requestQuote: OrderQuoting['requestQuote'],
): { readonly quoting: boolean; readonly orderQuoting: OrderQuoting | undefined } {
  const timeout = options === undefined ? 0 : duration(options, 'orderTimeout', 1_000);
  const orderQuoting = timeout === 0 ? undefined : { requestQuote, timeout, late: new Map() };
  return { quoting: options !== undefined, orderQuoting };
}

/** The options of a book without estimators: every quote request is rejected. */
export const NO_ESTIMATORS: QuoteOptions = { estimators: [], gasPrice: 0 };

/** Parses a gas price; `undefined` if it is not a decimal number below 2^256. */
export function parsePrice(value: DecimalInput): Decimal | undefined {
  const price = parseDecimal(value);
  return price !== undefined && price.digits / 10n ** BigInt(price.scale) <= MAX_UINT256 ? price : undefined;
}

/**
 * Gives every estimator a unique name for observations.
 *
 * @throws TypeError if an element is not an estimator.
 */
function nameEstimators(estimators: readonly (Estimator | EstimateFunction)[]): Estimator[] {
  if (!Array.isArray(estimators)) throw createOptionError('estimators', 'a list of estimators');
  const taken = new Set<string>();
  return estimators.map((given, i) => {
    const estimator = typeof given === 'function' ? { name: given.name, estimate: given } : given;
    if (typeof estimator?.estimate !== 'function') {
      throw new TypeError(`createOrderBook: quotes.estimators[${i}] must be a function or have an estimate function`);
    }
    const preferred = estimator.name || `estimator ${i + 1}`;
    let name = preferred;
    for (let n = 2; taken.has(name); n++) name = `${preferred} ${n}`;
    taken.add(name);
    if (name === estimator.name) return estimator;
    const { nativePrice } = estimator as Estimator; // a bare function has none
    const estimate: EstimateFunction = (trade, context) => estimator.estimate(trade, context);
    if (nativePrice === undefined) return { name, estimate };
    return { name, estimate, nativePrice: (token, context) => nativePrice.call(estimator, token, context) };
  });
}

function duration(
  options: QuoteOptions,
  name: 'timeout' | 'maxTimeout' | 'orderTimeout' | 'expiry' | 'onchainExpiry' | 'quoteCacheTtl' | 'priceCacheTtl',
  standard: number,
): number {
  return requireInteger(`createOrderBook: quotes.${name}`, options[name] ?? standard, 0, MAX_TIMER);
}

/** Estimates have safe integers as gas. */
function toGasBounds(bounds: NonNullable<QuoteOptions['unverifiedGas']>): GasBounds {
  assertKnownOptions('createOrderBook, quotes.unverifiedGas', bounds, ['min', 'max']);
  const { min = 0, max = Number.MAX_SAFE_INTEGER } = bounds;
  requireInteger('createOrderBook: quotes.unverifiedGas.min', min, 0);
  requireInteger('createOrderBook: quotes.unverifiedGas.max', max, Math.max(min, 1));
  return { min: BigInt(min), max: BigInt(max) };
}

const MILLION = 1_000_000;

function toVolumeFee({ volumeFee }: QuoteOptions): (sellToken: Address, buyToken: Address) => number | undefined {
  const validate = (ppm: number | undefined) => {
    if (ppm === undefined || (Number.isSafeInteger(ppm) && ppm >= 0 && ppm < MILLION)) return ppm;
    throw createOptionError('volumeFee', `an integer from 0 to ${MILLION - 1} (parts per million), got ${String(ppm)}`);
  };
  if (typeof volumeFee === 'function') return (sellToken, buyToken) => validate(volumeFee(sellToken, buyToken));
  const fixed = validate(volumeFee);
  return () => fixed;
}

function createOptionError(name: string, expected: string): TypeError {
  return new TypeError(`createOrderBook: quotes.${name} must be ${expected}`);
}

import type { Address } from '../protocol/hex.ts';
import type { OrderKind } from '../protocol/order.ts';

/**
 * A trade that a source of prices is asked about. Both tokens are contracts: native currency to be bought appears as
 * its wrapped token.
 */
export interface Trade {
  readonly sellToken: Address;
  readonly buyToken: Address;
  readonly kind: OrderKind;
  /** Atoms: what is sold (`sell`), or what is bought (`buy`). Positive, at most 2^256 − 1. */
  readonly amount: bigint;
}

/** What a source may work with while it is asked. */
export interface EstimateContext {
  /** Aborted when nobody waits for the answer any more: all have had their time, or have gone. */
  readonly signal: AbortSignal;
  /** Milliseconds that whoever asked first has. Others may ask the same meanwhile, each with as much time of his own. */
  readonly timeout: number;
}

/** What a source says about a trade. */
export interface Estimate {
  /** Atoms of the other side: what is bought (`sell`), or what is sold (`buy`). Positive, at most 2^256 − 1. */
  readonly amount: bigint;
  /** Units of gas that settling the trade takes. A positive integer. */
  readonly gas: number;
  /** Who would settle it. Default: the zero address. */
  readonly solver?: Address;
  /** Whether the trade has been simulated with success. Default: it has not. */
  readonly verified?: boolean;
  /**
   * How it would be settled: a JSON object, shown with an order only when the order cannot be filled any more. One that
   * is larger than 64 KiB, deeper than 64, or has text without a UTF-8 form is left out.
   */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** Says that a token of the trade cannot be traded at all, such as one that takes a fee on each transfer. */
export interface UnsupportedToken {
  readonly unsupportedToken: Address;
  readonly reason?: string;
}

/**
 * What a source answers; `undefined` when it knows no route. One that knows several ways, such as one of more pools and
 * more gas, tells of up to 16 of them: only the book knows what gas costs, and takes the best of them once it is paid.
 */
export type EstimatorAnswer = Estimate | readonly Estimate[] | UnsupportedToken | undefined;

/** Asks about a trade. */
export type EstimateFunction = (trade: Trade, context: EstimateContext) => Promise<EstimatorAnswer> | EstimatorAnswer;

/**
 * A source of prices. All sources of a book are asked side by side under one deadline, and the best answer wins
 * (decision 3.4). A source that rejects, throws, answers nonsense or does not answer in time is told of as an
 * observation and is otherwise as good as absent.
 */
export interface Estimator {
  /** For observations and counters. */
  readonly name: string;

  /** Asks about a trade. SHOULD stop working when the signal is aborted. MUST NOT change the trade. */
  readonly estimate: EstimateFunction;

  /**
   * What one atom of a token is worth, in atoms of native currency: a decimal number, such as `0.00029481` or `4e-10`.
   * A source without this verb is asked instead how much of the token buys a round amount of wrapped native currency, and
   * if it knows no route for that, a thousandth of it. Of what several sources say, the book takes the median.
   */
  nativePrice?(token: Address, context: EstimateContext): Promise<DecimalInput | undefined> | DecimalInput | undefined;
}

/** A decimal number that is not negative, read exactly: text, a bigint, or a number, standing for its shortest decimal. */
export type DecimalInput = string | number | bigint;

/** The price of gas in wei for one unit: a decimal number, or a function that finds it out when a quote is asked for. */
export type GasPrice = DecimalInput | (() => Promise<DecimalInput> | DecimalInput);

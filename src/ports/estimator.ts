import type { SolverErrorCode } from '../errors.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { BuyTokenDestination, OrderKind, SellTokenSource } from '../protocol/order.ts';
import type { SigningScheme } from '../protocol/signature.ts';
import type { InteractionData } from '../protocol/trampoline.ts';

/**
 * A trade to estimate. Both tokens are contracts: native currency on the buy side is replaced by its wrapped token.
 */
export interface Trade {
  readonly sellToken: Address;
  readonly buyToken: Address;
  readonly kind: OrderKind;
  /** Atoms: the amount sold (`sell`) or bought (`buy`). Positive, at most 2^256 − 1. */
  readonly amount: bigint;
}

/** The context of an estimate. */
export interface EstimateContext {
  /** Aborted when no caller waits for the result: all have timed out or disconnected. */
  readonly signal: AbortSignal;
  /**
   * Time limit of the first caller, in milliseconds. Further callers may join the same request with limits of their
   * own.
   */
  readonly timeout: number;
  /** The contract that would make the calls of `Estimate.interactions`. Set by a book. */
  readonly settlementContract?: Address;
}

/** The result of an estimate. */
export interface Estimate {
  /** Atoms of the other side: the amount bought (`sell`) or sold (`buy`). Positive, at most 2^256 − 1. */
  readonly amount: bigint;
  /** Units of gas for settling the trade. A positive integer. */
  readonly gas: number;
  /** Address of the solver that would settle the trade. Default: the zero address. */
  readonly solver?: Address;
  /** Whether the trade was simulated successfully. Ignored by a book with a quote verifier. Default: false. */
  readonly verified?: boolean;
  /**
   * The calls of the settlement contract that convert the sold into the bought tokens, at most 64. A quote verifier
   * needs them. Unless `metadata` has calls, they are added to it.
   */
  readonly interactions?: readonly InteractionData[];
  /** Calls before the transfers of the settlement. They count to the maximum of `interactions`. Default: none. */
  readonly preInteractions?: readonly InteractionData[];
  /**
   * Orders that the solver provides for the settlement, at most 16. They exchange the two tokens of the trade
   * at their limit prices. Default: none.
   */
  readonly jitOrders?: readonly JitOrder[];
  /** The account that must send the settlement, if `jitOrders` are only valid for it. Default: the solver. */
  readonly txOrigin?: Address;
  /**
   * Details of the settlement: a JSON object, shown with an order only once the order cannot be filled. It is omitted
   * if it is larger than 64 KiB, nested deeper than 64 levels, or contains text without a UTF-8 form.
   */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** A signed order that a solver provides, in the form of production. Amounts are decimal strings of atoms. */
export interface JitOrder {
  readonly sellToken: Address;
  readonly buyToken: Address;
  readonly receiver: Address;
  readonly sellAmount: string;
  readonly buyAmount: string;
  /** Of the fixed amount. */
  readonly executedAmount: string;
  readonly validTo: number;
  readonly appData: Hex;
  readonly side: OrderKind;
  readonly partiallyFillable: boolean;
  readonly sellTokenSource: SellTokenSource;
  readonly buyTokenDestination: BuyTokenDestination;
  readonly signingScheme: SigningScheme;
  /**
   * As the settlement contract receives it: a contract signature follows its contract; a pre-signature is the owner.
   */
  readonly signature: Hex;
}

/** Reports that a token of the trade cannot be traded, such as a token with a fee on each transfer. */
export interface UnsupportedToken {
  readonly unsupportedToken: Address;
  readonly reason?: string;
}

/**
 * Reports why a solver does not trade. With the codes of production this is the code of the rejection; otherwise the
 * code is `NoLiquidity` and `data.reason` has this value.
 */
export interface SolverRejection {
  readonly rejection: SolverErrorCode;
  /** Text for the client. */
  readonly reason?: string;
}

/**
 * The result of an estimator; `undefined` if it has no route. An estimator may return up to 16 alternatives, such as
 * one with more pools and more gas. The book knows the gas price and selects the alternative with the best
 * result after gas costs.
 */
export type EstimatorResponse = Estimate | readonly Estimate[] | UnsupportedToken | SolverRejection | undefined;

/** Estimates a trade. */
export type EstimateFunction = (
  trade: Trade,
  context: EstimateContext,
) => Promise<EstimatorResponse> | EstimatorResponse;

/**
 * A source of quotes. A book queries all estimators concurrently under one deadline, and the best result wins. See
 * docs/internals/decisions.md#d3-4. An estimator that fails, times out or returns an invalid result is reported as an
 * observation and otherwise ignored.
 */
export interface Estimator {
  /** Name for observations and counters. */
  readonly name: string;

  /** Estimates a trade. SHOULD stop when the signal is aborted. MUST NOT modify the trade. */
  readonly estimate: EstimateFunction;

  /**
   * Returns the value of one atom of a token in atoms of native currency: a decimal number, such as `0.00029481` or
   * `4e-10`. Without this method, the book estimates how much of the token buys a fixed amount of wrapped native
   * currency. If there is no route, it tries a thousandth of that amount. The book uses the median of the results of
   * all estimators.
   */
  nativePrice?(token: Address, context: EstimateContext): Promise<DecimalInput | undefined> | DecimalInput | undefined;
}

/** A non-negative decimal number, parsed exactly: text, a bigint, or a number in its shortest decimal form. */
export type DecimalInput = string | number | bigint;

/** The gas price in wei per unit: a decimal number, or a function that is called for each quote. */
export type GasPrice = DecimalInput | (() => Promise<DecimalInput> | DecimalInput);

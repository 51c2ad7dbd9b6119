import { MAX_UINT256 } from '../protocol/uint256.ts';
import type { ValidatedEstimate } from './estimate-validation.ts';
import type { Amounts, GasCost, NetRate, QuoteSide } from './fee.ts';
import {
  applyVolumeFee,
  compareRates,
  computeNetRate,
  computeNetworkFee,
  computeQuoteAmounts,
  isAmount,
} from './fee.ts';

/** The parameters that turn an estimate into a candidate. */
export interface CandidateContext {
  readonly side: QuoteSide;
  /** Gas units in addition to the settlement: hooks, and checking the signature. */
  readonly extraGas: bigint;
  /** Gas units of the settlement that estimators do not include: unwrapping native currency. */
  readonly unwrapGas: bigint;
  /** Parts per million. */
  readonly volumeFee: number | undefined;
  /** Bounds of the gas of estimates that were not simulated. */
  readonly unverifiedGas: GasBounds;
}

/** Bounds of gas units, inclusive. */
export interface GasBounds {
  readonly min: bigint;
  readonly max: bigint;
}

/** An estimate with its fee and amounts. */
export interface QuoteCandidate {
  readonly estimate: ValidatedEstimate;
  /** Gas units for settling the trade. */
  readonly gas: bigint;
  /** The cost of all gas, in atoms of the sell token. */
  readonly fee: bigint;
  readonly netRate: NetRate;
  /** `undefined` if the fee consumes the sell amount, or so much of it that nothing can be bought. */
  readonly amounts: Amounts | undefined;
}

/** Computes a candidate from an estimate; `undefined` if the amounts are not valid in a signed order. */
export function createQuoteCandidate(
  context: CandidateContext,
  estimate: ValidatedEstimate,
  cost: GasCost,
): QuoteCandidate | undefined {
  const { side } = context;
  const gas = boundGas(estimate, context.unverifiedGas) + context.unwrapGas;
  const fee = computeNetworkFee(gas + context.extraGas, cost);
  const candidate = { estimate, gas, fee, netRate: computeNetRate(side, estimate.amount, fee) };
  const before = computeQuoteAmounts(side, estimate.amount, fee);
  if (before === 'uncovered') return { ...candidate, amounts: undefined };
  const amounts = context.volumeFee === undefined ? before : applyVolumeFee(side.kind, before, fee, context.volumeFee);
  // The owner pays both amounts together.
  const fits = isAmount(amounts.sellAmount) && isAmount(amounts.buyAmount) && amounts.sellAmount + fee <= MAX_UINT256;
  return fits ? { ...candidate, amounts } : undefined;
}

/** Returns the gas of an estimate. The claim of a solver that nothing has verified is kept within bounds. */
function boundGas({ gas, verified }: ValidatedEstimate, { min, max }: GasBounds): bigint {
  if (verified) return gas;
  return gas < min ? min : gas > max ? max : gas;
}

/** Whether a candidate is strictly better than another one, or than none. */
export function isBetterCandidate(candidate: QuoteCandidate, than: QuoteCandidate | undefined): boolean {
  if (than === undefined) return true;
  const order = compareRates(candidate.netRate, than.netRate);
  return order > 0 || (order === 0 && candidate.estimate.verified && !than.estimate.verified);
}

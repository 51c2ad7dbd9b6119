import { MAX_UINT256 } from '../protocol/uint256.ts';
import type { ValidatedEstimate } from './estimate-validation.ts';
import type { Amounts, GasCost, NetRate, QuoteSide } from './fee.ts';
import { compareRates, isAmount, netRate, networkFee, quoteAmounts, takeVolumeFee } from './fee.ts';

/** What the answers of sources are turned into offers for. */
export interface CandidateContext {
  readonly side: QuoteSide;
  /** Units of gas besides what settling the trade takes: hooks, and checking the signature. */
  readonly extraGas: bigint;
  /** Units of gas that settling it takes and sources do not know of: unwrapping native currency. */
  readonly unwrapGas: bigint;
  /** Parts per million. */
  readonly volumeFee: number | undefined;
}

/** What a source's answer comes to for the one who asked. */
export interface QuoteCandidate {
  readonly estimate: ValidatedEstimate;
  /** Units of gas that settling the trade takes. */
  readonly gas: bigint;
  /** What all of the gas costs, in atoms of the sell token. */
  readonly fee: bigint;
  readonly netRate: NetRate;
  /** `undefined` when the fee takes all that is sold, or so much that nothing is bought for the rest. */
  readonly amounts: Amounts | undefined;
}

/** Works an answer out; `undefined` when nothing that could be signed comes of it. */
export function createQuoteCandidate(
  wanted: CandidateContext,
  estimate: ValidatedEstimate,
  cost: GasCost,
): QuoteCandidate | undefined {
  const { side } = wanted;
  const gas = estimate.gas + wanted.unwrapGas;
  const fee = networkFee(gas + wanted.extraGas, cost);
  const offer = { estimate, gas, fee, netRate: netRate(side, estimate.amount, fee) };
  const before = quoteAmounts(side, estimate.amount, fee);
  if (before === 'uncovered') return { ...offer, amounts: undefined };
  const amounts = wanted.volumeFee === undefined ? before : takeVolumeFee(side.kind, before, fee, wanted.volumeFee);
  // What leaves the owner is both together.
  const fits = isAmount(amounts.sellAmount) && isAmount(amounts.buyAmount) && amounts.sellAmount + fee <= MAX_UINT256;
  return fits ? { ...offer, amounts } : undefined;
}

/** Whether an offer is strictly better than another one, or than none. */
export function isBetterCandidate(offer: QuoteCandidate, than: QuoteCandidate | undefined): boolean {
  if (than === undefined) return true;
  const order = compareRates(offer.netRate, than.netRate);
  return order > 0 || (order === 0 && offer.estimate.verified && !than.estimate.verified);
}

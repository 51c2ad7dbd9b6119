import type { NewQuote, QuoteKind } from '../ports/quote-store.ts';
import { formatDecimal } from '../protocol/decimal.ts';
import type { StoredOrderQuote } from '../records/order-json.ts';
import { computeNetworkFee, type GasCost, getFixedAmount, type QuoteSide } from './fee.ts';
import type { QuoteCandidate } from './quote-candidate.ts';
import type { ParsedQuoteRequest, QuotedScheme } from './request.ts';

/** Returns the kind of a quote. */
export function getQuoteKind({ scheme, onchain }: QuotedScheme): QuoteKind {
  if (!onchain) return 'standard';
  return scheme === 'presign' ? 'onchainPresign' : 'onchainEip1271'; // no other scheme can be on chain
}

/**
 * Creates the stored form of a quote: the estimate for the whole fixed amount, before the fee is deducted. An order
 * without a signed fee contains that amount.
 */
export function createStoredQuote(
  { sellToken, buyToken, side, signing }: Pick<ParsedQuoteRequest, 'sellToken' | 'buyToken' | 'side' | 'signing'>,
  { estimate, gas }: Pick<QuoteCandidate, 'estimate' | 'gas'>,
  cost: GasCost,
  expiresAt: number,
): NewQuote {
  const [sellAmount, buyAmount] = getWholeAmounts(side, estimate.amount);
  const fee = computeNetworkFee(gas, cost);
  const body: Omit<StoredOrderQuote, 'metadata'> = {
    gasAmount: gas.toString(),
    gasPrice: formatDecimal(cost.gasPrice),
    sellTokenPrice: formatDecimal(cost.sellTokenPrice),
    sellAmount: sellAmount.toString(),
    buyAmount: buyAmount.toString(),
    feeAmount: fee.toString(),
    solver: estimate.solver,
    verified: estimate.verified,
  };
  return {
    sellToken,
    buyToken,
    expiresAt,
    kind: side.kind,
    amount: getFixedAmount(side).toString(),
    quoteKind: getQuoteKind(signing),
    rank: getRank(estimate.verified, sellAmount + fee, buyAmount),
    quote: { body: JSON.stringify(body), metadata: estimate.metadata },
  };
}

function getWholeAmounts(side: QuoteSide, estimated: bigint): readonly [sellAmount: bigint, buyAmount: bigint] {
  const fixed = getFixedAmount(side);
  return side.kind === 'sell' ? [fixed, estimated] : [estimated, fixed];
}

/**
 * Returns the sort key of a quote: verified quotes first, then by the rate of bought to sold amount with fee. The rate
 * is a 256-bit fixed-point number; amounts have at most 256 bits, so 512 bits are sufficient.
 */
function getRank(verified: boolean, sold: bigint, bought: bigint): string {
  return `${verified ? 1 : 0}${((bought << 256n) / sold).toString(16).padStart(128, '0')}`;
}

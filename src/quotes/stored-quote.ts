import type { StoredOrderQuote } from '../orders/order-json.ts';
import type { NewQuote, QuoteKind } from '../ports/quotes.ts';
import { formatDecimal } from '../protocol/decimal.ts';
import type { GasCost, QuoteSide } from './fee.ts';
import { fixedAmount, networkFee } from './fee.ts';
import type { QuoteCandidate } from './quote-candidate.ts';
import type { ParsedQuoteRequest, QuotedScheme } from './request.ts';

/** How the order of a request will be placed. */
export function getQuoteKind({ scheme, onchain }: QuotedScheme): QuoteKind {
  if (!onchain) return 'standard';
  return scheme === 'presign' ? 'onchainPresign' : 'onchainEip1271'; // no other scheme can be on chain
}

/**
 * What is stored of a quote: the estimate for the whole amount asked about, before any fee is taken from it, since that
 * amount is what an order without a signed fee will name.
 */
export function newQuote(
  { sellToken, buyToken, side, signing }: Pick<ParsedQuoteRequest, 'sellToken' | 'buyToken' | 'side' | 'signing'>,
  { estimate, gas }: Pick<QuoteCandidate, 'estimate' | 'gas'>,
  cost: GasCost,
  expiresAt: number,
): NewQuote {
  const [sellAmount, buyAmount] = wholeAmounts(side, estimate.amount);
  const fee = networkFee(gas, cost);
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
    amount: fixedAmount(side).toString(),
    quoteKind: getQuoteKind(signing),
    rank: getRank(estimate.verified, sellAmount + fee, buyAmount),
    quote: { body: JSON.stringify(body), metadata: estimate.metadata },
  };
}

function wholeAmounts(side: QuoteSide, estimated: bigint): readonly [sellAmount: bigint, buyAmount: bigint] {
  const fixed = fixedAmount(side);
  return side.kind === 'sell' ? [fixed, estimated] : [estimated, fixed];
}

/**
 * What is verified first, then the rate, what is bought for what is sold with its fee: as text that sorts as it ranks.
 * The rate is a 256-bit fixed-point number; amounts have 256 bits at most, so 512 bits hold it.
 */
function getRank(verified: boolean, sold: bigint, bought: bigint): string {
  return `${verified ? 1 : 0}${((bought << 256n) / sold).toString(16).padStart(128, '0')}`;
}

import { formatDecimal } from '../protocol/decimal.ts';
import type { Hex } from '../protocol/hex.ts';
import { formatIsoDate } from '../records/order-json.ts';
import type { QuotedOrder, QuoteResponse } from '../records/quote-results.ts';
import { type Amounts, formatBasisPoints, type GasCost } from './fee.ts';
import type { PersistedQuote } from './quote-cache.ts';
import type { ParsedQuoteRequest } from './request.ts';

/** The parts of a response. */
export interface ResponseParts {
  readonly request: ParsedQuoteRequest;
  readonly validTo: number;
  readonly appDataHash: Hex;
  readonly amounts: Amounts;
  readonly fee: bigint;
  readonly gas: bigint;
  readonly cost: GasCost;
  readonly verified: boolean;
  /** Parts per million. */
  readonly volumeFee: number | undefined;
  /** `undefined` if the quote is not stored. */
  readonly persisted: PersistedQuote | undefined;
}

/** Creates the response of a quote request. */
export function createQuoteResponse(parts: ResponseParts): QuoteResponse {
  const { request, amounts, cost, persisted, volumeFee } = parts;
  const { sellToken, buyToken, receiver, sellTokenBalance, buyTokenBalance } = request;
  return {
    quote: {
      sellToken,
      buyToken,
      receiver,
      sellAmount: amounts.sellAmount.toString(),
      buyAmount: amounts.buyAmount.toString(),
      validTo: parts.validTo,
      ...getAppData(parts),
      feeAmount: parts.fee.toString(),
      gasAmount: parts.gas.toString(),
      gasPrice: formatDecimal(cost.gasPrice),
      sellTokenPrice: formatDecimal(cost.sellTokenPrice),
      kind: request.side.kind,
      partiallyFillable: false,
      sellTokenBalance,
      buyTokenBalance,
      signingScheme: request.signing.scheme,
    },
    from: request.from,
    expiration: formatIsoDate(persisted?.expiresAt ?? 0),
    id: persisted?.id ?? null,
    verified: parts.verified,
    ...(volumeFee === undefined ? {} : { protocolFeeBps: formatBasisPoints(volumeFee) }),
  };
}

/** Returns a document with its hash; a hash, or no value, as the hash only. */
function getAppData({ request, appDataHash }: ResponseParts): Pick<QuotedOrder, 'appData' | 'appDataHash'> {
  const { appData } = request;
  const isDocument =
    appData !== undefined && (request.appDataHash !== undefined || appData.toLowerCase() !== appDataHash);
  return isDocument ? { appData, appDataHash } : { appData: appDataHash };
}

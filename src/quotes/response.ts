import { formatDecimal } from '../protocol/decimal.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { BuyTokenDestination, OrderKind, SellTokenSource } from '../protocol/order.ts';
import type { SigningScheme } from '../protocol/signature.ts';
import { formatIsoDate } from '../records/order-json.ts';
import type { Amounts, GasCost } from './fee.ts';
import { formatBasisPoints } from './fee.ts';
import type { PersistedQuote } from './quote-cache.ts';
import type { ParsedQuoteRequest } from './request.ts';

/**
 * The order that can be signed for a quote. Amounts are decimal strings of atoms; gas and prices are plain decimals
 * without an exponent.
 */
export interface QuotedOrder {
  readonly sellToken: Address;
  readonly buyToken: Address;
  readonly receiver: Address | null;
  /** The traded amount. For a sale quoted before fee, the requested amount is `sellAmount + feeAmount`. */
  readonly sellAmount: string;
  readonly buyAmount: string;
  readonly validTo: number;
  /** The value from the request: the document, or a hash. */
  readonly appData: string;
  /** The document's hash, if the request contains the document. */
  readonly appDataHash?: Hex;
  /** The gas costs in atoms of the sell token: settlement, hooks, and checking a contract signature. */
  readonly feeAmount: string;
  /** Gas units of the settlement, without hooks and signature check. */
  readonly gasAmount: string;
  /** Wei per unit of gas. */
  readonly gasPrice: string;
  /** Atoms of native currency for one atom of the sell token. */
  readonly sellTokenPrice: string;
  readonly kind: OrderKind;
  readonly partiallyFillable: false;
  readonly sellTokenBalance: SellTokenSource;
  readonly buyTokenBalance: BuyTokenDestination;
  readonly signingScheme: SigningScheme;
}

/** The response to a quote request (`POST /api/v1/quote`). */
export interface QuoteResponse {
  readonly quote: QuotedOrder;
  readonly from: Address;
  /** ISO 8601 UTC with milliseconds. For a quote that is not stored: the beginning of 1970. */
  readonly expiration: string;
  /** The `quoteId` for the order; null if the quote is not stored. */
  readonly id: number | null;
  /** Whether the trade was simulated successfully. */
  readonly verified: boolean;
  /** The volume fee that the amounts contain, in basis points; absent if there is none. */
  readonly protocolFeeBps?: string;
}

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

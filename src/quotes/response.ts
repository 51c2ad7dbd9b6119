import { formatIsoDate } from '../orders/order-json.ts';
import { formatDecimal } from '../protocol/decimal.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { BuyTokenDestination, OrderKind, SellTokenSource } from '../protocol/order.ts';
import type { SigningScheme } from '../protocol/signature.ts';
import type { Amounts, GasCost } from './fee.ts';
import { basisPoints } from './fee.ts';
import type { PersistedQuote } from './quote-cache.ts';
import type { ParsedQuoteRequest } from './request.ts';

/**
 * What an order could be signed as. Amounts are decimal strings of atoms; gas and prices are plain decimals without an
 * exponent.
 */
export interface QuotedOrder {
  readonly sellToken: Address;
  readonly buyToken: Address;
  readonly receiver: Address | null;
  /** What is traded. For a sale quoted before fee, this and `feeAmount` together are what was asked about. */
  readonly sellAmount: string;
  readonly buyAmount: string;
  readonly validTo: number;
  /** As it was given: the document, or a hash. */
  readonly appData: string;
  /** The document's hash, when the document was given. */
  readonly appDataHash?: Hex;
  /** What gas costs in the sell token: that of the trade, of its hooks and of checking a contract's signature. */
  readonly feeAmount: string;
  /** Units of gas that the trade takes, hooks and signature aside. */
  readonly gasAmount: string;
  /** Wei for one unit of gas. */
  readonly gasPrice: string;
  /** Atoms of native currency for one atom of the sell token. */
  readonly sellTokenPrice: string;
  readonly kind: OrderKind;
  readonly partiallyFillable: false;
  readonly sellTokenBalance: SellTokenSource;
  readonly buyTokenBalance: BuyTokenDestination;
  readonly signingScheme: SigningScheme;
}

/** The answer to a request for a quote (`POST /api/v1/quote`). */
export interface QuoteResponse {
  readonly quote: QuotedOrder;
  readonly from: Address;
  /** ISO 8601 UTC with milliseconds. For a quote that is not stored, the beginning of 1970. */
  readonly expiration: string;
  /** What an order names as its `quoteId`; null when the quote is not stored. */
  readonly id: number | null;
  /** Whether the trade has been simulated with success. */
  readonly verified: boolean;
  /** The fee on the volume that the amounts contain, in basis points; absent when there is none. */
  readonly protocolFeeBps?: string;
}

/** What a response is made of. */
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
  /** `undefined` when the quote is not stored. */
  readonly kept: PersistedQuote | undefined;
}

/** Puts the answer together. */
export function quoteResponse(parts: ResponseParts): QuoteResponse {
  const { request, amounts, cost, kept, volumeFee } = parts;
  const { sellToken, buyToken, receiver, sellTokenBalance, buyTokenBalance } = request;
  return {
    quote: {
      sellToken,
      buyToken,
      receiver,
      sellAmount: amounts.sellAmount.toString(),
      buyAmount: amounts.buyAmount.toString(),
      validTo: parts.validTo,
      ...echoOfAppData(parts),
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
    expiration: formatIsoDate(kept?.expiresAt ?? 0),
    id: kept?.id ?? null,
    verified: parts.verified,
    ...(volumeFee === undefined ? {} : { protocolFeeBps: basisPoints(volumeFee) }),
  };
}

/** A document is echoed with its hash; a hash, or nothing, as the hash alone. */
function echoOfAppData({ request, appDataHash }: ResponseParts): Pick<QuotedOrder, 'appData' | 'appDataHash'> {
  const { appData } = request;
  const isDocument =
    appData !== undefined && (request.appDataHash !== undefined || appData.toLowerCase() !== appDataHash);
  return isDocument ? { appData, appDataHash } : { appData: appDataHash };
}

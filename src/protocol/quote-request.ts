import type { BuyTokenDestination, OrderKind, SellTokenSource } from './order.ts';
import type { SigningScheme } from './signature.ts';

/**
 * Price qualities. `fast` returns the first sufficient estimate and is not stored; `optimal` and `verified` wait for
 * all estimators until the deadline.
 */
export const PRICE_QUALITIES = ['fast', 'optimal', 'verified'] as const;

/** A price quality. */
export type PriceQuality = (typeof PRICE_QUALITIES)[number];

/**
 * A quote request in wire format. `kind: 'sell'` requires one of `sellAmountBeforeFee` (which has precedence if it is a
 * valid amount) and `sellAmountAfterFee`. `kind: 'buy'` requires `buyAmountAfterFee`. The amounts of the other kind are
 * ignored.
 */
export interface QuoteRequest {
  readonly sellToken: string;
  readonly buyToken: string;
  /** Owner of the future order; the zero address if it is not known yet. */
  readonly from: string;
  /** Null or absent: the owner. */
  readonly receiver?: string | null | undefined;
  readonly kind: OrderKind;
  /** Atoms, decimal, not zero: the total amount sold; the fee is deducted from it. */
  readonly sellAmountBeforeFee?: string | null | undefined;
  /** Atoms, decimal, not zero: the traded amount; the fee is added to it. */
  readonly sellAmountAfterFee?: string | null | undefined;
  /** Atoms, decimal, not zero. */
  readonly buyAmountAfterFee?: string | null | undefined;
  /** Seconds since 1970. At most one of `validTo` and `validFor`. */
  readonly validTo?: number | null | undefined;
  /** Seconds from now. Default: 1800. */
  readonly validFor?: number | null | undefined;
  /** The document, or the 32-byte hash of a known document. Default: the zero hash, which denotes `{}`. */
  readonly appData?: string | null | undefined;
  /** Requires `appData`, which must then be a document with this hash. */
  readonly appDataHash?: string | null | undefined;
  readonly sellTokenBalance?: SellTokenSource | undefined;
  readonly buyTokenBalance?: BuyTokenDestination | undefined;
  /** Default: `eip712`. */
  readonly signingScheme?: SigningScheme | undefined;
  /** Whether the order will be placed on chain; for `presign` and `eip1271` only. Such quotes have a longer expiry. */
  readonly onchainOrder?: boolean | undefined;
  /** Gas for checking the contract signature; for `eip1271` only. Default: 27000. */
  readonly verificationGasLimit?: number | null | undefined;
  /** Default: `optimal`. */
  readonly priceQuality?: PriceQuality | undefined;
  /** Time limit for the estimators, in milliseconds. Default and maximum are options of the book. */
  readonly timeout?: number | null | undefined;
}

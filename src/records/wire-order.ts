import type { PlacementError } from '../ports/chain-store.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { BuyTokenDestination, OrderData, OrderKind, SellTokenSource } from '../protocol/order.ts';
import type { SigningScheme } from '../protocol/signature.ts';
import type { Interactions } from '../protocol/trampoline.ts';

/**
 * The quote of an order. Amounts are decimal strings of atoms; gas and prices are plain decimals without an exponent.
 */
export interface StoredOrderQuote {
  /** Expected gas units for settling the trade. */
  readonly gasAmount: string;
  /** Wei per unit of gas. */
  readonly gasPrice: string;
  /** Atoms of native currency for one atom of the sell token. */
  readonly sellTokenPrice: string;
  readonly sellAmount: string;
  readonly buyAmount: string;
  /** `ceil(gasAmount × gasPrice / sellTokenPrice)`, in atoms of the sell token. */
  readonly feeAmount: string;
  readonly solver: Address;
  readonly verified: boolean;
  /** Details of the settlement. Present once the order cannot be filled. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** How fees are handled. Submitted orders are all `limit`, just-in-time orders of settlements `liquidity`. */
export type OrderClass = 'market' | 'limit' | 'liquidity';

/**
 * An order in wire format. Amounts are decimal strings of atoms, hex is lower case, `validTo` is in seconds since 1970,
 * dates are ISO 8601 UTC with milliseconds.
 */
export interface Order {
  readonly uid: Hex;
  readonly sellToken: Address;
  readonly buyToken: Address;
  /** Null: the owner. */
  readonly receiver: Address | null;
  readonly sellAmount: string;
  readonly buyAmount: string;
  readonly validTo: number;
  /** The hash of the app-data document. */
  readonly appData: Hex;
  readonly feeAmount: string;
  readonly kind: OrderKind;
  readonly partiallyFillable: boolean;
  readonly sellTokenBalance: SellTokenSource;
  readonly buyTokenBalance: BuyTokenDestination;
  readonly signingScheme: SigningScheme;
  /** ECDSA: 65 bytes with v as 27 or 28 and s in its lower half. `presign`: `0x`. */
  readonly signature: Hex;
  readonly owner: Address;
  readonly creationDate: string;
  readonly class: OrderClass;
  readonly isLiquidityOrder: boolean;
  readonly settlementContract: Address;
  /** Calls around the order's trade. */
  readonly interactions: Interactions;
  /** Seconds since 1970 before which the order is not settled; absent if it can settle immediately. */
  readonly validFrom?: number;
  /** @deprecated Always null. */
  readonly availableBalance: null;
  /** The document with the hash `appData`, byte for byte; null if it is not known. */
  readonly fullAppData: string | null;
  readonly status: OrderStatus;
  readonly invalidated: boolean;
  readonly executedSellAmount: string;
  readonly executedSellAmountBeforeFees: string;
  readonly executedBuyAmount: string;
  /** @deprecated Non-zero for very old orders only. */
  readonly executedFeeAmount: string;
  readonly executedFee: string;
  readonly executedFeeToken: Address;
  /** The quote of the order, if any. Omitted in listings. */
  readonly quote?: StoredOrderQuote;
  /** The trader of an order that was placed on chain. */
  readonly onchainUser?: Address;
  readonly onchainOrderData?: OnchainOrderData;
  /** Only for orders that sell native currency. */
  readonly ethflowData?: EthflowData;
}

/** The sender of an order that was placed on chain, and the error of its placement, if any. */
export interface OnchainOrderData {
  readonly sender: Address;
  readonly placementError?: PlacementError;
}

/** Additional members of an order that sells native currency. */
export interface EthflowData {
  /** The validity that the user chose, in seconds since 1970; the signed `validTo` is 4294967295. */
  readonly userValidTo: number;
  readonly refundTxHash: Hex | null;
  readonly isRefunded: boolean;
}

/** The members of an order that never change after it is stored. */
export type OrderBody = Omit<
  Order,
  | 'fullAppData'
  | 'status'
  | 'invalidated'
  | 'executedSellAmount'
  | 'executedSellAmountBeforeFees'
  | 'executedBuyAmount'
  | 'executedFeeAmount'
  | 'executedFee'
  | 'executedFeeToken'
  | 'quote'
  | 'onchainUser'
  | 'onchainOrderData'
  | 'ethflowData'
>;

/** The immutable values of an accepted order. */
export interface AdmittedOrder {
  readonly uid: Hex;
  readonly owner: Address;
  /** The signed data. */
  readonly data: OrderData;
  readonly signingScheme: SigningScheme;
  /** In its stored form. */
  readonly signature: Hex;
  /** Milliseconds since 1970. */
  readonly creationDate: number;
  readonly settlementContract: Address;
  /** The hooks of the document, in the form in which a settlement runs them. */
  readonly interactions: Interactions;
  readonly validFrom: number | undefined;
  /** `liquidity`: a just-in-time order of a settlement. Default: `limit`. */
  readonly class?: 'liquidity';
}

/** The status of an order in wire format. */
export const ORDER_STATUSES = ['presignaturePending', 'open', 'fulfilled', 'cancelled', 'expired'] as const;

/** The status of an order at a given time, derived from its state. See docs/internals/decisions.md#d2-22. */
export type OrderStatus = (typeof ORDER_STATUSES)[number];

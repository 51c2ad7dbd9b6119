import type { PlacementError } from '../ports/chain-store.ts';
import type { OrderQuote } from '../ports/quotes.ts';
import type { OrderState, StoredOrder } from '../ports/store.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { BuyTokenDestination, OrderData, OrderKind, SellTokenSource } from '../protocol/order.ts';
import type { SigningScheme } from '../protocol/signature.ts';
import type { Interactions } from '../protocol/trampoline.ts';
import type { OrderStatus } from './status.ts';
import { getOrderStatus } from './status.ts';

/**
 * The quote that an order was placed upon (contract, "StoredOrderQuote"). Amounts are decimal strings of atoms; gas and
 * prices are plain decimals without an exponent.
 */
export interface StoredOrderQuote {
  /** Units of gas that settling the trade was expected to take. */
  readonly gasAmount: string;
  /** Wei for one unit of gas. */
  readonly gasPrice: string;
  /** Atoms of native currency for one atom of the sell token. */
  readonly sellTokenPrice: string;
  readonly sellAmount: string;
  readonly buyAmount: string;
  /** `ceil(gasAmount × gasPrice / sellTokenPrice)`, in atoms of the sell token. */
  readonly feeAmount: string;
  readonly solver: Address;
  readonly verified: boolean;
  /** How the trade would have been settled. Present once the order cannot be filled any more. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** How fees are handled. Orders that are signed and sent in are all `limit`. */
export type OrderClass = 'market' | 'limit' | 'liquidity';

/**
 * An order as it is read (contract, "Order"). Amounts are decimal strings of atoms, hex is lower case, `validTo` counts
 * seconds since 1970, dates are ISO 8601 UTC with milliseconds.
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
  /** Seconds since 1970 before which the order is not settled; absent when it may be at once. */
  readonly validFrom?: number;
  /** @deprecated Always null. */
  readonly availableBalance: null;
  /** The document behind `appData`, exactly as it was hashed; null when it is not known. */
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
  /** The quote it was placed upon, when it was. Left out of listings. */
  readonly quote?: StoredOrderQuote;
  /** Of orders placed on chain: the actual trader. */
  readonly onchainUser?: Address;
  readonly onchainOrderData?: OnchainOrderData;
  /** Of orders for native currency. */
  readonly ethflowData?: EthflowData;
}

/** Who placed an order on chain, and what was wrong with it (contract, "OnchainOrderData"). */
export interface OnchainOrderData {
  readonly sender: Address;
  readonly placementError?: PlacementError;
}

/** What is special about an order for native currency (contract, "EthflowData"). */
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

/** What is fixed about an order when it is admitted. */
export interface AdmittedOrder {
  readonly uid: Hex;
  readonly owner: Address;
  readonly data: OrderData;
  readonly signingScheme: SigningScheme;
  readonly signature: Hex;
  /** Milliseconds since 1970. */
  readonly creationDate: number;
  readonly settlementContract: Address;
  readonly interactions: Interactions;
  readonly validFrom: number | undefined;
}

// Every stored body begins with these members, so that reads find the sell token without parsing.
const UID_AT = '{"uid":"'.length;
const SELL_TOKEN_AT = UID_AT + 114 + '","sellToken":"'.length;

/** Renders, once, the members of an order that never change. */
export function renderBody(order: AdmittedOrder): string {
  const { data } = order;
  const body: OrderBody = {
    uid: order.uid,
    sellToken: data.sellToken,
    buyToken: data.buyToken,
    receiver: data.receiver,
    sellAmount: data.sellAmount.toString(),
    buyAmount: data.buyAmount.toString(),
    validTo: data.validTo,
    appData: data.appData,
    feeAmount: data.feeAmount.toString(),
    kind: data.kind,
    partiallyFillable: data.partiallyFillable,
    sellTokenBalance: data.sellTokenBalance,
    buyTokenBalance: data.buyTokenBalance,
    signingScheme: order.signingScheme,
    signature: order.signature,
    owner: order.owner,
    creationDate: isoDate(order.creationDate),
    class: 'limit',
    isLiquidityOrder: false,
    settlementContract: order.settlementContract,
    interactions: order.interactions,
    ...(order.validFrom === undefined ? {} : { validFrom: order.validFrom }),
    availableBalance: null,
  };
  return JSON.stringify(body);
}

/** An order as JSON text, with what a cache of it needs. */
export interface RenderedOrder {
  readonly uid: Hex;
  /** The JSON text of an `Order`. */
  readonly json: string;
  /** A strong entity tag, made of the row's version and the derived status. */
  readonly etag: string;
}

/** An order as text, but for what hangs on the time: its status, and what of its quote may be shown. */
export interface PreparedOrder {
  readonly uid: Hex;
  readonly state: OrderState;
  readonly validTo: number;
  readonly version: number;
  /** The stored body but for its closing brace: a part of the row's own text, never a copy. */
  readonly head: string;
  /** From there to the status. */
  readonly middle: string;
  /** Everything between the status and the quote. */
  readonly tail: string;
  readonly quote: OrderQuote | null;
  /** Whether its document is not known. */
  readonly bare: boolean;
  /** All of it in UTF-8, once somebody has wanted it: up to the status, and from there to the quote. */
  bytes: { readonly head: Uint8Array; readonly tail: Uint8Array } | undefined;
}

/**
 * Prepares a row for being rendered: its stored body, as it is, and the members that change.
 *
 * @throws Error when the row is damaged.
 */
export function prepareOrder(order: StoredOrder): PreparedOrder {
  const { uid, body, state, validTo, version, quote } = order;
  if (!body.startsWith(uid, UID_AT) || !body.endsWith('}'))
    throw new Error(`the stored row of order ${uid} is damaged`);
  const feeToken = order.executedFeeToken ?? body.slice(SELL_TOKEN_AT, SELL_TOKEN_AT + 42);
  const signedFee = order.executedFeeAmount;
  const sellBeforeFees =
    signedFee === '0' ? order.executedSellAmount : String(BigInt(order.executedSellAmount) - BigInt(signedFee));
  const placed = order.placement === null ? '' : `,${order.placement.slice(1, -1)}`;
  const tail =
    `","invalidated":${order.invalidated}` +
    `,"executedSellAmount":"${order.executedSellAmount}","executedSellAmountBeforeFees":"${sellBeforeFees}"` +
    `,"executedBuyAmount":"${order.executedBuyAmount}","executedFeeAmount":"${signedFee}"` +
    `,"executedFee":"${order.executedFee}","executedFeeToken":"${feeToken}"` +
    `,"fullAppData":${order.fullAppData === null ? 'null' : JSON.stringify(order.fullAppData)}`;
  const [head, middle] = [body.slice(0, -1), `${placed},"status":"`];
  return {
    uid,
    state,
    validTo,
    version,
    head,
    middle,
    tail,
    quote,
    bare: order.fullAppData === null,
    bytes: undefined,
  };
}

/**
 * Renders a prepared order.
 *
 * @param now seconds since 1970, by which the status is derived.
 */
export function renderPrepared(order: PreparedOrder, now: number): RenderedOrder {
  const { uid, head, middle, tail, version, bare } = order;
  const status = getOrderStatus(order, now);
  const json = `${head}${middle}${status}${tail}${renderEnd(order, status)}`;
  // A document may become known later without touching the row.
  return { uid, json, etag: `"${version}-${status}${bare ? '-bare' : ''}"` };
}

/** What follows the `tail` of a prepared order. */
export function renderEnd({ quote }: PreparedOrder, status: OrderStatus): string {
  return quote === null ? '}' : `,"quote":${renderQuote(quote, status)}}`;
}

/** How a trade would be settled is nobody's business while it still can be (decision 2.28). */
function renderQuote({ body, metadata }: OrderQuote, status: OrderStatus): string {
  const fillable = status === 'open' || status === 'presignaturePending';
  return fillable ? body : `${body.slice(0, -1)},"metadata":${metadata}}`;
}

/** A moment in milliseconds as ISO 8601 UTC. `Date` is used as a calendar here, not as a clock. */
export function isoDate(ms: number): string {
  // biome-ignore lint/style/noRestrictedGlobals: formats a given moment, does not read the time
  return new Date(ms).toISOString();
}

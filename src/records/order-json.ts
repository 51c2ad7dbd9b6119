import type { PlacementError } from '../ports/chain-store.ts';
import type { NewOrder, OrderState } from '../ports/order-record.ts';
import type { OrderQuote } from '../ports/quote-store.ts';
import type { StoredOrder } from '../ports/store.ts';
import { getBuiltInDocument } from '../protocol/app-data.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { BuyTokenDestination, OrderData, OrderKind, SellTokenSource } from '../protocol/order.ts';
import type { SigningScheme } from '../protocol/signature.ts';
import type { Interactions } from '../protocol/trampoline.ts';
import { getOrderStatus, type OrderStatus } from './status.ts';
import { findDamage } from './stored-row.ts';

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

// Every stored body begins with these members, so that a read finds the sell token without parsing.
const UID_OFFSET = '{"uid":"'.length;
const SELL_TOKEN_OFFSET = UID_OFFSET + 114 + '","sellToken":"'.length;

/** Renders the immutable members of an order as JSON. */
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
    creationDate: formatIsoDate(order.creationDate),
    class: order.class ?? 'limit',
    isLiquidityOrder: order.class === 'liquidity',
    settlementContract: order.settlementContract,
    interactions: order.interactions,
    ...(order.validFrom === undefined ? {} : { validFrom: order.validFrom }),
    availableBalance: null,
  };
  return JSON.stringify(body);
}

/** Values of a stored order that its signed fields do not determine. */
export interface StorageTerms {
  /** Default: `pending` for presignatures, which anybody can submit; otherwise `open`. */
  readonly quotaClass?: NewOrder['quotaClass'];
  /** The effective expiry, in seconds since 1970. Default: the signed one. */
  readonly validTo?: number;
}

/** Creates the record of an order for the store, with its rendered body. */
export function toNewOrder(order: AdmittedOrder, terms: StorageTerms = {}): NewOrder {
  const { uid, owner, creationDate, signingScheme, data } = order;
  const presigns = signingScheme === 'presign';
  return {
    uid,
    owner,
    creationDate,
    sellToken: data.sellToken,
    buyToken: data.buyToken,
    signingScheme,
    validTo: terms.validTo ?? data.validTo,
    state: presigns ? 'presignaturePending' : 'open',
    quotaClass: terms.quotaClass ?? (presigns ? 'pending' : 'open'),
    appData: data.appData,
    body: renderBody(order),
  };
}

/** An order as JSON text, with the values that a cache needs. */
export interface RenderedOrder {
  readonly uid: Hex;
  /** The JSON text of an `Order`. */
  readonly json: string;
  /**
   * A strong entity tag, made of the creation date, the row's version and the derived status. The creation date
   * distinguishes an order that is stored again after retention has deleted it.
   */
  readonly etag: string;
}

/** An order as JSON text without its time-dependent parts: the status, and the metadata of the quote. */
export interface PreparedOrder {
  readonly uid: Hex;
  readonly state: OrderState;
  readonly validTo: number;
  readonly version: number;
  /** Milliseconds since 1970. */
  readonly creationDate: number;
  /** The stored body without its closing brace: a slice of a longer text, not a copy. */
  head: string;
  /** The text between `head` and the status. */
  readonly middle: string;
  /** The text between the status and the quote. */
  tail: string;
  readonly quote: OrderQuote | null;
  /** Whether its app-data document is not known. */
  readonly lacksDocument: boolean;
  /** The encoded element of `by_uids`, created on first use for a status. */
  element: { readonly status: OrderStatus; readonly bytes: Uint8Array } | undefined;
  /** The order as one text, created on first use for a status. Only of a cached order. */
  rendered: { readonly status: OrderStatus; readonly order: RenderedOrder } | undefined;
  /** The last request that has read the order from the cache, so that each order is returned once. */
  request: number;
  /** Whether it was read since the cache added or moved it. A flag is cheaper than a move at each read. */
  used: boolean;
}

/**
 * Prepares a row for rendering: the unchanged stored body and the members that change.
 *
 * @param bodyIsVerified - Whether the store has compared the body with a checksum.
 * @throws Error if the row is damaged.
 */
export function prepareOrder(order: StoredOrder, bodyIsVerified = false): PreparedOrder {
  const { uid, body, state, validTo, version, creationDate, quote } = order;
  const damage = findDamage(order, bodyIsVerified);
  if (damage !== undefined) throw new Error(`the stored row of order ${uid} is damaged: ${damage}`);
  const feeToken = order.executedFeeToken ?? body.slice(SELL_TOKEN_OFFSET, SELL_TOKEN_OFFSET + 42);
  const signedFee = order.executedFeeAmount;
  const sellBeforeFees =
    signedFee === '0' ? order.executedSellAmount : String(BigInt(order.executedSellAmount) - BigInt(signedFee));
  const fullAppData = order.fullAppData ?? findBuiltInDocument(body);
  const placed = order.placement === null ? '' : `,${order.placement.slice(1, -1)}`;
  const tail =
    `","invalidated":${order.invalidated}` +
    `,"executedSellAmount":"${order.executedSellAmount}","executedSellAmountBeforeFees":"${sellBeforeFees}"` +
    `,"executedBuyAmount":"${order.executedBuyAmount}","executedFeeAmount":"${signedFee}"` +
    `,"executedFee":"${order.executedFee}","executedFeeToken":"${feeToken}"` +
    `,"fullAppData":${fullAppData === null ? 'null' : JSON.stringify(fullAppData)}`;
  const [head, middle] = [body.slice(0, -1), `${placed},"status":"`];
  return {
    uid,
    state,
    validTo,
    version,
    creationDate,
    head,
    middle,
    tail,
    quote,
    lacksDocument: fullAppData === null,
    element: undefined,
    rendered: undefined,
    request: 0,
    used: false,
  };
}

/** Returns the built-in app-data document that the body of an order refers to, or `null`. */
function findBuiltInDocument(body: string): string | null {
  const hash = /"appData":"(0x[0-9a-f]{64})"/.exec(body)?.[1];
  return hash === undefined ? null : (getBuiltInDocument(hash as Hex) ?? null);
}

/**
 * Renders a prepared order.
 *
 * @param now - Seconds since 1970; determines the status.
 */
export function renderPrepared(order: PreparedOrder, now: number): RenderedOrder {
  return renderAs(order, getOrderStatus(order, now));
}

/** Renders an order of a cache like `renderPrepared`, but again only after its status has changed. */
export function renderCached(order: PreparedOrder, now: number): RenderedOrder {
  const status = getOrderStatus(order, now);
  if (order.rendered?.status === status) return order.rendered.order;
  const { head, middle, tail } = order;
  const rendered = renderAs(order, status);
  order.rendered = { status, order: rendered };
  // The parts become slices of the text, so that the cache holds them once.
  const tailStart = head.length + middle.length + status.length;
  order.head = rendered.json.slice(0, head.length);
  order.tail = rendered.json.slice(tailStart, tailStart + tail.length);
  return rendered;
}

function renderAs(order: PreparedOrder, status: OrderStatus): RenderedOrder {
  const { uid, head, middle, tail, version, creationDate, lacksDocument } = order;
  const json = `${head}${middle}${status}${tail}${renderEnd(order, status)}`;
  // The document may become known later without a change of the row.
  return { uid, json, etag: `"${creationDate}-${version}-${status}${lacksDocument ? '-hash' : ''}"` };
}

/** Renders the text that follows the `tail` of a prepared order. */
export function renderEnd({ quote }: PreparedOrder, status: OrderStatus): string {
  return quote === null ? '}' : `,"quote":${renderQuote(quote, status)}}`;
}

/**
 * Renders a quote. The metadata of a settlement stays hidden while the order can be filled. See
 * docs/internals/decisions.md#d2-28.
 */
function renderQuote({ body, metadata }: OrderQuote, status: OrderStatus): string {
  const fillable = status === 'open' || status === 'presignaturePending';
  return fillable ? body : `${body.slice(0, -1)},"metadata":${metadata}}`;
}

/** Formats a time in milliseconds as ISO 8601 UTC. */
export function formatIsoDate(ms: number): string {
  // biome-ignore lint/style/noRestrictedGlobals: formats a given time, does not read the clock
  return new Date(ms).toISOString();
}

/** One result of reading many orders. */
export type RenderedResult =
  | { readonly order: RenderedOrder; readonly error?: undefined }
  | { readonly order?: undefined; readonly error: UnreadableOrder };

/** A stored order whose row is damaged. */
export interface UnreadableOrder {
  readonly uid: Hex;
  readonly description: string;
}

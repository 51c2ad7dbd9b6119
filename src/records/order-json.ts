import type { NewOrder, OrderState } from '../ports/order-record.ts';
import type { OrderQuote } from '../ports/quote-store.ts';
import type { CancelRejection, StoredOrder } from '../ports/store.ts';
import { getBuiltInDocument } from '../protocol/app-data.ts';
import type { Hex } from '../protocol/hex.ts';
import { isEcdsa, type SigningScheme } from '../protocol/signature.ts';
import type { AdmittedOrder, OrderBody, OrderStatus } from './wire-order.ts';

// Every stored body begins with these members, so that a read finds the sell token without parsing.
const UID_OFFSET = '{"uid":"'.length;
const UID_END = UID_OFFSET + 114;
const SELL_TOKEN_OFFSET = UID_END + '","sellToken":"'.length;

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

/**
 * Derives an order's status; the first match applies: fulfilled, cancelled, expired, presignaturePending, open. An
 * order whose `validTo` equals `now` is not expired.
 *
 * @param now - Seconds since 1970.
 */
export function getOrderStatus(
  order: { readonly state: OrderState; readonly validTo: number },
  now: number,
): OrderStatus {
  switch (order.state) {
    case 'fulfilled':
    case 'cancelled':
      return order.state;
    case 'presignaturePending':
    case 'open':
      return order.validTo < now ? 'expired' : order.state;
  }
}

/**
 * Returns the time from which retention counts the age of an order and of its document, in seconds since 1970: the end
 * of the order, or its creation if that is later. An order can be placed on chain after its end.
 */
export function getEndTime({ validTo, creationDate }: Pick<NewOrder, 'validTo' | 'creationDate'>): number {
  return Math.max(validTo, Math.floor(creationDate / 1000));
}

/** The values that determine whether the owner can cancel an order by signature. */
export interface CancellableOrder {
  readonly state: OrderState;
  readonly validTo: number;
  readonly signingScheme: SigningScheme;
}

/**
 * Checks whether an order can be cancelled off chain. This requires an ECDSA signature; other orders are cancelled on
 * chain. A recorded expiry does not matter: a clock that was ahead may have recorded it.
 *
 * @param order - `undefined` if there is no such order.
 * @param now - Seconds since 1970.
 * @returns The reason why it cannot be cancelled, or `undefined`.
 */
export function checkCancellable(order: CancellableOrder | undefined, now: number): CancelRejection | undefined {
  if (order === undefined) return 'missing';
  const status = getOrderStatus(order, now);
  switch (status) {
    case 'fulfilled':
    case 'cancelled':
    case 'expired':
      return status;
    case 'presignaturePending':
      return 'on-chain';
    case 'open':
      return isEcdsa(order.signingScheme) ? undefined : 'on-chain';
  }
}

/**
 * Finds damage in a stored order before it is rendered: members of the body that are not as `renderBody` has written
 * them, a body of another order, and invalid values of the other columns.
 *
 * @param bodyIsVerified - Whether the store has compared the body with a checksum.
 * @returns The name of the damaged column. `undefined` if the row is sound.
 */
export function findDamage(order: StoredOrder, bodyIsVerified = false): string | undefined {
  const { uid, body, placement } = order;
  if (!hasUid(body, uid) || !(bodyIsVerified || isSoundBody(body, uid))) return 'body';
  if (!STATES.has(order.state) || typeof order.invalidated !== 'boolean') return 'state';
  if (!isCount(order.version) || !isCount(order.creationDate)) return 'version';
  if (!isCount(order.validTo) || (placement === null && !isSoundValidity(order))) return 'validTo';
  if (!isAmount(order.executedSellAmount) || !isAmount(order.executedBuyAmount)) return 'executed amount';
  if (!isAmount(order.executedFeeAmount) || !isAmount(order.executedFee)) return 'executed fee';
  if (order.executedFeeToken !== null && !/^0x[0-9a-f]{40}$/.test(order.executedFeeToken)) return 'executed fee token';
  if (order.fullAppData !== null && typeof order.fullAppData !== 'string') return 'document';
  if (placement !== null && !isObject(placement)) return 'placement';
  return order.quote === null || isSoundQuote(order.quote) ? undefined : 'quote';
}

/** Only an order that was never signed on chain may have a shorter validity than the signed one. */
function isSoundValidity({ uid, validTo, state }: StoredOrder): boolean {
  const signed = Number.parseInt(uid.slice(106), 16);
  return validTo === signed || (validTo < signed && (state === 'presignaturePending' || state === 'cancelled'));
}

const OWNER = '","owner":"0x';
const STATES: ReadonlySet<unknown> = /* @__PURE__ */ new Set([
  'open',
  'presignaturePending',
  'cancelled',
  'fulfilled',
] satisfies StoredOrder['state'][]);

const hex = (bytes: number) => `"0x[0-9a-f]{${2 * bytes}}"`;
const AMOUNT = '"\\d+"';
const INTERACTION = `\\{"target":${/* @__PURE__ */ hex(20)},"value":${AMOUNT},"callData":"0x[0-9a-f]*"\\}`;
const INTERACTIONS = `\\[(?:${INTERACTION}(?:,${INTERACTION})*)?\\]`;

/** The members of a body after the UID, in the order of `renderBody`. A compiled expression is faster than a parser. */
const BODY = /* @__PURE__ */ new RegExp(
  /* @__PURE__ */ [
    `"sellToken":${hex(20)}`,
    `"buyToken":${hex(20)}`,
    `"receiver":(?:null|${hex(20)})`,
    `"sellAmount":${AMOUNT}`,
    `"buyAmount":${AMOUNT}`,
    '"validTo":\\d+',
    `"appData":${hex(32)}`,
    `"feeAmount":${AMOUNT}`,
    '"kind":"(?:sell|buy)"',
    '"partiallyFillable":(?:true|false)',
    '"sellTokenBalance":"(?:erc20|internal|external)"',
    '"buyTokenBalance":"(?:erc20|internal)"',
    '"signingScheme":"(?:eip712|ethsign|presign|eip1271)"',
    '"signature":"0x[0-9a-f]*"',
    `"owner":${hex(20)}`,
    '"creationDate":"[-+0-9T:.]+Z"',
    '"class":"(?:limit|market|liquidity)"',
    '"isLiquidityOrder":(?:true|false)',
    `"settlementContract":${hex(20)}`,
    `"interactions":\\{"pre":${INTERACTIONS},"post":${INTERACTIONS}\\}`,
    '(?:"validFrom":\\d+,)?"availableBalance":null\\}$',
  ].join(','),
  'y',
);

/** The position after `{"uid":"…",`. */
const MEMBERS_OFFSET = UID_END + '",'.length;

/** Returns whether a body has the structure that `renderBody` writes, and the UID. */
export function isSoundBody(body: string, uid: string): boolean {
  BODY.lastIndex = MEMBERS_OFFSET;
  if (!hasUid(body, uid) || !body.startsWith('{"uid":"') || !BODY.test(body)) return false;
  // The owner in the body must be that of the UID.
  return body.startsWith(uid.slice(66, 106), body.indexOf(OWNER) + OWNER.length);
}

/** Comparing a slice takes a fifth of the time of `startsWith`. */
function hasUid(body: string, uid: string): boolean {
  return body.slice(UID_OFFSET, UID_END) === uid;
}

function isAmount(text: unknown): boolean {
  return text === '0' || (typeof text === 'string' && /^\d+$/.test(text));
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isObject(text: string): boolean {
  return parseObject(text) !== undefined;
}

/** Members of a quote that are decimal numbers. */
const QUOTE_NUMBERS = ['gasAmount', 'gasPrice', 'sellTokenPrice', 'sellAmount', 'buyAmount', 'feeAmount'] as const;

function isSoundQuote({ body, metadata }: OrderQuote): boolean {
  const quote = parseObject(body);
  if (quote === undefined || !isObject(metadata)) return false;
  return QUOTE_NUMBERS.every((name) => quote[name] === undefined || /^\d+(?:\.\d+)?$/.test(String(quote[name])));
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isPlain = typeof value === 'object' && value !== null && !Array.isArray(value) && text.endsWith('}');
    return isPlain ? (value as Record<string, unknown>) : undefined; // an object of unknown members
  } catch {
    return undefined;
  }
}

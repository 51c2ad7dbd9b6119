import * as z from 'zod/mini';
import { OrderBookError } from '../errors.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import { parseHex } from '../protocol/hex.ts';
import type { BuyTokenDestination, OrderKind, SellTokenSource } from '../protocol/order.ts';
import { BUY_TOKEN_DESTINATIONS, MAX_UINT32, ORDER_KINDS, SELL_TOKEN_SOURCES } from '../protocol/order.ts';
import { amount, hex, hexSchema, parseShape } from '../protocol/shape.ts';
import type { SigningScheme } from '../protocol/signature.ts';
import { SIGNING_SCHEMES } from '../protocol/signature.ts';
import { MAX_UINT256, parseUint256 } from '../protocol/uint256.ts';

/** A signed order in wire format, as a client submits it. */
export interface OrderCreation {
  readonly sellToken: string;
  readonly buyToken: string;
  /** Null or absent: the owner. */
  readonly receiver?: string | null | undefined;
  /** Atoms, decimal. */
  readonly sellAmount: string;
  /** Atoms, decimal. */
  readonly buyAmount: string;
  /** Seconds since 1970. */
  readonly validTo: number;
  /** Must be "0": solvers take their fee from the surplus. */
  readonly feeAmount: string;
  readonly kind: OrderKind;
  readonly partiallyFillable: boolean;
  readonly sellTokenBalance?: SellTokenSource | undefined;
  readonly buyTokenBalance?: BuyTokenDestination | undefined;
  readonly signingScheme: SigningScheme;
  readonly signature: string;
  /** Must be the signer, if given. */
  readonly from?: string | null | undefined;
  readonly quoteId?: number | null | undefined;
  /** The document, or the 32-byte hash of a known document. */
  readonly appData: string;
  /** Must be the hash of the document in `appData`, if given. */
  readonly appDataHash?: string | null | undefined;
  readonly fullBalanceCheck?: boolean | undefined;
}

export const orderCreation = /* @__PURE__ */ z.object({
  sellToken: hexSchema(20),
  buyToken: hexSchema(20),
  receiver: z.nullish(hexSchema(20)),
  sellAmount: amount(),
  buyAmount: amount(),
  validTo: z.number().check(z.refine(isUint32, { error: 'must be whole seconds since 1970, as a uint32' })),
  feeAmount: amount(),
  kind: z.enum(ORDER_KINDS),
  partiallyFillable: z.boolean(),
  sellTokenBalance: z._default(z.enum(SELL_TOKEN_SOURCES), 'erc20'),
  buyTokenBalance: z._default(z.enum(BUY_TOKEN_DESTINATIONS), 'erc20'),
  signingScheme: z.enum(SIGNING_SCHEMES),
  signature: hex(),
  from: z.nullish(hexSchema(20)),
  quoteId: z.nullish(z.int('must be an integer')),
  appData: z.string(),
  appDataHash: z.nullish(hexSchema(32)),
  fullBalanceCheck: z._default(z.boolean(), false),
});

function isUint32(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= MAX_UINT32;
}

/** A parsed order. */
export interface ParsedCreation {
  readonly sellToken: Address;
  readonly buyToken: Address;
  readonly receiver: Address | null;
  readonly sellAmount: bigint;
  readonly buyAmount: bigint;
  readonly validTo: number;
  /** False also for a fee that does not fit in 256 bits. */
  readonly feeIsZero: boolean;
  readonly kind: OrderKind;
  readonly partiallyFillable: boolean;
  readonly sellTokenBalance: SellTokenSource;
  readonly buyTokenBalance: BuyTokenDestination;
  readonly signingScheme: SigningScheme;
  readonly signature: Hex;
  readonly from: Address | undefined;
  readonly quoteId: number | undefined;
  readonly appData: string;
  readonly appDataHash: Hex | undefined;
  readonly fullBalanceCheck: boolean;
}

/**
 * Parses an order. Unknown keys are ignored.
 *
 * @returns The order, or `InvalidBody` naming the first invalid field, `SellAmountOverflow` or `BuyAmountOverflow`.
 */
export function parseOrderCreation(input: unknown): ParsedCreation | OrderBookError {
  return parseValid(input) ?? parseBySchema(input);
}

/** Parses an order with the schema, which finds the first error. */
export function parseBySchema(input: unknown): ParsedCreation | OrderBookError {
  const parsed = parseShape(orderCreation, input);
  if (parsed instanceof OrderBookError) return parsed;
  const { feeAmount, ...order } = parsed;
  const sellAmount = parseUint256(order.sellAmount);
  if (typeof sellAmount === 'string') return createOverflowError('sellAmount');
  const buyAmount = parseUint256(order.buyAmount);
  if (typeof buyAmount === 'string') return createOverflowError('buyAmount');
  return {
    ...order,
    receiver: order.receiver ?? null,
    sellAmount,
    buyAmount,
    feeIsZero: parseUint256(feeAmount) === 0n,
    from: order.from ?? undefined,
    quoteId: order.quoteId ?? undefined,
    appDataHash: order.appDataHash ?? undefined,
  };
}

/** The members of an order before their checks. */
type UnparsedCreation = { readonly [Name in keyof OrderCreation]?: unknown };

/**
 * Parses a valid order in a fifth of the time of the schema: each member is checked once, without intermediate objects.
 *
 * @returns `undefined` for every other input.
 */
function parseValid(input: unknown): ParsedCreation | undefined {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return undefined;
  const order: UnparsedCreation = input;
  const { validTo, kind, partiallyFillable, signingScheme, appData } = order;
  const { sellTokenBalance = 'erc20', buyTokenBalance = 'erc20', fullBalanceCheck = false } = order;
  if (
    !(typeof validTo === 'number' && isUint32(validTo)) ||
    !isOneOf(kind, ORDER_KINDS) ||
    typeof partiallyFillable !== 'boolean' ||
    !isOneOf(signingScheme, SIGNING_SCHEMES) ||
    typeof appData !== 'string' ||
    !isOneOf(sellTokenBalance, SELL_TOKEN_SOURCES) ||
    !isOneOf(buyTokenBalance, BUY_TOKEN_DESTINATIONS) ||
    typeof fullBalanceCheck !== 'boolean'
  )
    return undefined;

  const [sellToken, buyToken] = [parseHex(order.sellToken, 20), parseHex(order.buyToken, 20)];
  const signature = parseHex(order.signature);
  if (sellToken === undefined || buyToken === undefined || signature === undefined) return undefined;

  const receiver = parseOptionalHex(order.receiver, 20);
  const from = parseOptionalHex(order.from, 20);
  const appDataHash = parseOptionalHex(order.appDataHash, 32);
  const quoteId = order.quoteId ?? null;
  if (receiver === undefined || from === undefined || appDataHash === undefined) return undefined;
  if (!(quoteId === null || (typeof quoteId === 'number' && Number.isSafeInteger(quoteId)))) return undefined;

  const sellAmount = parseUint256(order.sellAmount);
  const buyAmount = parseUint256(order.buyAmount);
  const feeAmount = parseUint256(order.feeAmount);
  if (typeof sellAmount === 'string' || typeof buyAmount === 'string' || typeof feeAmount === 'string')
    return undefined;

  return {
    sellToken,
    buyToken,
    receiver,
    sellAmount,
    buyAmount,
    validTo,
    feeIsZero: feeAmount === 0n,
    kind,
    partiallyFillable,
    sellTokenBalance,
    buyTokenBalance,
    signingScheme,
    signature,
    from: from ?? undefined,
    quoteId: quoteId ?? undefined,
    appData,
    appDataHash: appDataHash ?? undefined,
    fullBalanceCheck,
  };
}

function isOneOf<T>(value: unknown, allowed: readonly T[]): value is T {
  return allowed.includes(value as T); // compared by identity
}

/** Returns null if the text is absent, and `undefined` if it is malformed. */
function parseOptionalHex(text: unknown, size: number): Hex | null | undefined {
  return text === undefined || text === null ? null : parseHex(text, size);
}

function createOverflowError(field: 'sellAmount' | 'buyAmount'): OrderBookError {
  const code = field === 'sellAmount' ? 'SellAmountOverflow' : 'BuyAmountOverflow';
  return new OrderBookError(code, undefined, { field, max: MAX_UINT256.toString() });
}

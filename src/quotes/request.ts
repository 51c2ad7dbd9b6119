import * as z from 'zod/mini';
import { OrderBookError } from '../errors.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { BuyTokenDestination, OrderKind, SellTokenSource } from '../protocol/order.ts';
import { BUY_TOKEN_DESTINATIONS, MAX_UINT32, ORDER_KINDS, SELL_TOKEN_SOURCES } from '../protocol/order.ts';
import { hexSchema, parseShape, uint32 } from '../protocol/shape.ts';
import type { SigningScheme } from '../protocol/signature.ts';
import { isEcdsa, SIGNING_SCHEMES } from '../protocol/signature.ts';
import { parseUint256 } from '../protocol/uint256.ts';
import type { QuoteSide } from './fee.ts';

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

const uint = () => uint32('must be an integer from 0 to 4294967295');
const GAS_LIMIT = {
  error: ({ input }: { readonly input?: unknown }) =>
    typeof input === 'number' ? `must be an integer from 0 to ${Number.MAX_SAFE_INTEGER}` : undefined,
};
const gasLimit = () => z.int(GAS_LIMIT).check(z.minimum(0, GAS_LIMIT));

const common = {
  sellToken: hexSchema(20),
  buyToken: hexSchema(20),
  from: hexSchema(20),
  receiver: z.nullish(hexSchema(20)),
  validTo: z.nullish(uint()),
  validFor: z.nullish(uint()),
  appData: z.nullish(z.string()),
  appDataHash: z.nullish(hexSchema(32)),
  sellTokenBalance: z._default(z.enum(SELL_TOKEN_SOURCES), 'erc20'),
  buyTokenBalance: z._default(z.enum(BUY_TOKEN_DESTINATIONS), 'erc20'),
  signingScheme: z._default(z.enum(SIGNING_SCHEMES), 'eip712'),
  onchainOrder: z._default(z.boolean(), false),
  verificationGasLimit: z.nullish(gasLimit()),
  priceQuality: z._default(z.enum(PRICE_QUALITIES), 'optimal'),
  timeout: z.nullish(uint()),
};

const anyKind = /* @__PURE__ */ z.object({ kind: z.enum(ORDER_KINDS) });
export const sale = /* @__PURE__ */ z.object({
  ...common,
  kind: z.literal('sell'),
  sellAmountBeforeFee: z.nullish(z.string()),
  sellAmountAfterFee: z.nullish(z.string()),
});
export const purchase = /* @__PURE__ */ z.object({
  ...common,
  kind: z.literal('buy'),
  buyAmountAfterFee: z.nullish(z.string()),
});

/** How the order will be signed and placed; determines its gas and the expiry of its quote. */
export interface QuotedScheme {
  readonly scheme: SigningScheme;
  readonly onchain: boolean;
  /** Gas units for checking the signature on chain. */
  readonly gas: number;
}

/** A parsed quote request. */
export interface ParsedQuoteRequest {
  readonly sellToken: Address;
  readonly buyToken: Address;
  readonly from: Address;
  readonly receiver: Address | null;
  readonly side: QuoteSide;
  readonly validity: { readonly validTo: number } | { readonly validFor: number };
  /** The value from the request, for the response; `undefined` if absent. */
  readonly appData: string | undefined;
  readonly appDataHash: Hex | undefined;
  readonly sellTokenBalance: SellTokenSource;
  readonly buyTokenBalance: BuyTokenDestination;
  readonly signing: QuotedScheme;
  readonly priceQuality: PriceQuality;
  /** Milliseconds. */
  readonly timeout: number | undefined;
}

const DEFAULT_VALIDITY = 1800;
const DEFAULT_VERIFICATION_GAS = 27_000;

/**
 * Parses a quote request. Unknown keys are ignored.
 *
 * @returns The request, or `InvalidParameter` naming the first invalid field.
 */
export function parseQuoteRequest(input: unknown): ParsedQuoteRequest | OrderBookError {
  const kind = parseShape(anyKind, input, 'InvalidParameter');
  if (kind instanceof OrderBookError) return kind;
  const request =
    kind.kind === 'sell'
      ? parseShape(sale, input, 'InvalidParameter')
      : parseShape(purchase, input, 'InvalidParameter');
  if (request instanceof OrderBookError) return request;
  if ((input as { readonly enableFastPath?: unknown }).enableFastPath === true) {
    return invalid('enableFastPath', 'enableFastPath is not supported');
  }
  const side = parseSide(request);
  if (side instanceof OrderBookError) return side;
  const signing = parseSigning(request);
  if (signing instanceof OrderBookError) return signing;
  if (typeof request.validTo === 'number' && typeof request.validFor === 'number') {
    return invalid('validFor', 'only one of validTo and validFor may be given');
  }
  const appData = request.appData ?? undefined;
  const appDataHash = request.appDataHash ?? undefined;
  if (appData === undefined && appDataHash !== undefined) {
    return invalid('appDataHash', 'appDataHash requires the document in appData');
  }
  const { sellToken, buyToken, from, sellTokenBalance, buyTokenBalance, priceQuality } = request;
  return {
    sellToken,
    buyToken,
    from,
    side,
    signing,
    appData,
    appDataHash,
    sellTokenBalance,
    buyTokenBalance,
    priceQuality,
    receiver: request.receiver ?? null,
    validity:
      typeof request.validTo === 'number'
        ? { validTo: request.validTo }
        : { validFor: request.validFor ?? DEFAULT_VALIDITY },
    timeout: request.timeout ?? undefined,
  };
}

/** Returns the `validTo` of the future order, in seconds since 1970. */
export function getValidTo({ validity }: ParsedQuoteRequest, now: number): number {
  return 'validTo' in validity ? validity.validTo : Math.min(now + validity.validFor, MAX_UINT32);
}

/**
 * Returns the fixed amount. Of the two amounts of a sale, the first valid one is used: clients may send an empty one.
 */
function parseSide(request: z.infer<typeof sale> | z.infer<typeof purchase>): QuoteSide | OrderBookError {
  if (request.kind === 'buy') {
    const { kind } = request;
    const buyAmountAfterFee = parseAtoms('buyAmountAfterFee', request.buyAmountAfterFee);
    if (typeof buyAmountAfterFee === 'bigint') return { kind, buyAmountAfterFee };
    return buyAmountAfterFee ?? missing('buyAmountAfterFee');
  }
  const { kind } = request;
  const sellAmountBeforeFee = parseAtoms('sellAmountBeforeFee', request.sellAmountBeforeFee);
  if (typeof sellAmountBeforeFee === 'bigint') return { kind, sellAmountBeforeFee };
  const sellAmountAfterFee = parseAtoms('sellAmountAfterFee', request.sellAmountAfterFee);
  if (typeof sellAmountAfterFee === 'bigint') return { kind, sellAmountAfterFee };
  return sellAmountBeforeFee ?? sellAmountAfterFee ?? missing('sellAmountBeforeFee');
}

/** Parses an amount. Returns `undefined` if it is absent. */
function parseAtoms(path: string, text: string | null | undefined): bigint | OrderBookError | undefined {
  if (text === undefined || text === null) return undefined;
  const value = parseUint256(text);
  if (typeof value === 'bigint' && value > 0n) return value;
  const problem =
    value === 'overflow' ? 'does not fit in 256 bits' : value === 0n ? 'must not be 0' : 'must be decimal digits only';
  return invalid(path, `${path} ${problem}`);
}

function parseSigning({
  signingScheme: scheme,
  onchainOrder: onchain,
  verificationGasLimit,
}: z.infer<typeof sale> | z.infer<typeof purchase>): QuotedScheme | OrderBookError {
  const limit = verificationGasLimit ?? undefined;
  if (limit !== undefined && scheme !== 'eip1271') {
    return invalid('verificationGasLimit', `verificationGasLimit is for eip1271 only, not for ${scheme}`);
  }
  if (onchain && isEcdsa(scheme)) {
    return invalid('onchainOrder', `onchainOrder is for presign and eip1271 only, not for ${scheme}`);
  }
  return { scheme, onchain, gas: scheme === 'eip1271' ? (limit ?? DEFAULT_VERIFICATION_GAS) : 0 };
}

function missing(path: string): OrderBookError {
  return invalid(path, `${path} is missing`);
}

function invalid(path: string, description: string): OrderBookError {
  return new OrderBookError('InvalidParameter', description, { path }, 'shape');
}

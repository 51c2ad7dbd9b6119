import * as z from 'zod/mini';
import { OrderBookError } from '../errors.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { BuyTokenDestination, OrderKind, SellTokenSource } from '../protocol/order.ts';
import { BUY_TOKEN_DESTINATIONS, MAX_UINT32, ORDER_KINDS, SELL_TOKEN_SOURCES } from '../protocol/order.ts';
import { hexSchema, parseShape } from '../protocol/shape.ts';
import type { SigningScheme } from '../protocol/signature.ts';
import { isEcdsa, SIGNING_SCHEMES } from '../protocol/signature.ts';
import { parseUint256 } from '../protocol/uint256.ts';
import type { QuoteSide } from './fee.ts';

/**
 * How long a quote may take: `fast` is content with the first answer that will do and is not stored; `optimal` and `verified` wait
 * for every source until the deadline.
 */
export const PRICE_QUALITIES = ['fast', 'optimal', 'verified'] as const;
/** How good a price has to be: `fast` takes what comes first, `optimal` and `verified` wait for all sources. */
export type PriceQuality = (typeof PRICE_QUALITIES)[number];

/**
 * A request for a quote as a client sends it in. `kind: 'sell'` takes one of `sellAmountBeforeFee` (which wins, if it is an
 * amount) and `sellAmountAfterFee`, `kind: 'buy'` takes `buyAmountAfterFee`; the amounts of the other kind are ignored.
 */
export interface QuoteRequest {
  readonly sellToken: string;
  readonly buyToken: string;
  /** Whose order it would be; the zero address when that is not known yet. */
  readonly from: string;
  /** Null or absent: the owner. */
  readonly receiver?: string | null | undefined;
  readonly kind: OrderKind;
  /** Atoms, decimal, not zero: all that is sold; the fee is taken from it. */
  readonly sellAmountBeforeFee?: string | null | undefined;
  /** Atoms, decimal, not zero: what is traded; the fee comes on top. */
  readonly sellAmountAfterFee?: string | null | undefined;
  /** Atoms, decimal, not zero. */
  readonly buyAmountAfterFee?: string | null | undefined;
  /** Seconds since 1970. At most one of `validTo` and `validFor`. */
  readonly validTo?: number | null | undefined;
  /** Seconds from now. Default 1800. */
  readonly validFor?: number | null | undefined;
  /** The document itself, or the 32-byte hash of one that is known. Default: the zero hash, which stands for `{}`. */
  readonly appData?: string | null | undefined;
  /** Only together with `appData`, which is a document then and must have this hash. */
  readonly appDataHash?: string | null | undefined;
  readonly sellTokenBalance?: SellTokenSource | undefined;
  readonly buyTokenBalance?: BuyTokenDestination | undefined;
  /** Default `eip712`. */
  readonly signingScheme?: SigningScheme | undefined;
  /** Whether the order will be placed on chain; for `presign` and `eip1271` only. Such quotes live longer. */
  readonly onchainOrder?: boolean | undefined;
  /** Gas that checking the contract's signature takes; for `eip1271` only. Default 27000. */
  readonly verificationGasLimit?: number | null | undefined;
  /** Default `optimal`. */
  readonly priceQuality?: PriceQuality | undefined;
  /** Milliseconds that the sources have. Default and maximum are options of the book. */
  readonly timeout?: number | null | undefined;
}

const UINT32 = { error: 'must be a whole number of 32 bits' };
const isUint32 = (value: number) => Number.isInteger(value) && value >= 0 && value <= MAX_UINT32;
const uint32 = () => z.number().check(z.refine(isUint32, UINT32));
const gasLimit = () =>
  z.number().check(
    z.refine((value) => Number.isSafeInteger(value) && value >= 0, {
      error: `must be a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`,
    }),
  );

const common = {
  sellToken: hexSchema(20),
  buyToken: hexSchema(20),
  from: hexSchema(20),
  receiver: z.nullish(hexSchema(20)),
  validTo: z.nullish(uint32()),
  validFor: z.nullish(uint32()),
  appData: z.nullish(z.string()),
  appDataHash: z.nullish(hexSchema(32)),
  sellTokenBalance: z._default(z.enum(SELL_TOKEN_SOURCES), 'erc20'),
  buyTokenBalance: z._default(z.enum(BUY_TOKEN_DESTINATIONS), 'erc20'),
  signingScheme: z._default(z.enum(SIGNING_SCHEMES), 'eip712'),
  onchainOrder: z._default(z.boolean(), false),
  verificationGasLimit: z.nullish(gasLimit()),
  priceQuality: z._default(z.enum(PRICE_QUALITIES), 'optimal'),
  timeout: z.nullish(uint32()),
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

/** How an order will be signed, and placed, as far as that bears on its gas and on how long its quote lives. */
export interface QuotedScheme {
  readonly scheme: SigningScheme;
  readonly onchain: boolean;
  /** Units of gas that checking the signature takes on chain. */
  readonly gas: number;
}

/** A request for a quote, in the engine's own types. */
export interface ParsedQuoteRequest {
  readonly sellToken: Address;
  readonly buyToken: Address;
  readonly from: Address;
  readonly receiver: Address | null;
  readonly side: QuoteSide;
  readonly validity: { readonly validTo: number } | { readonly validFor: number };
  /** As it was given, to be echoed; `undefined` when it was not. */
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
 * Reads a request for a quote. Unknown keys are ignored. Whatever does not fit is `InvalidParameter`, naming the field
 * (contract, "Quote errors"; decision 1.5).
 */
export function parseQuoteRequest(input: unknown): ParsedQuoteRequest | OrderBookError {
  const kind = parseShape(anyKind, input, 'InvalidParameter');
  if (kind instanceof OrderBookError) return kind;
  const request =
    kind.kind === 'sell'
      ? parseShape(sale, input, 'InvalidParameter')
      : parseShape(purchase, input, 'InvalidParameter');
  if (request instanceof OrderBookError) return request;
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
    return invalid('appDataHash', 'appDataHash goes with the document in appData, which is missing');
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

/** The second until which the order would be valid, once the request has arrived. */
export function getValidTo({ validity }: ParsedQuoteRequest, now: number): number {
  return 'validTo' in validity ? validity.validTo : Math.min(now + validity.validFor, MAX_UINT32);
}

/** Of a sale's two amounts the first that is one: a client may send both, and leave one of them empty. */
function parseSide(request: z.infer<typeof sale> | z.infer<typeof purchase>): QuoteSide | OrderBookError {
  if (request.kind === 'buy') {
    const { kind } = request;
    const buyAmountAfterFee = readAtoms('buyAmountAfterFee', request.buyAmountAfterFee);
    if (typeof buyAmountAfterFee === 'bigint') return { kind, buyAmountAfterFee };
    return buyAmountAfterFee ?? missing('buyAmountAfterFee');
  }
  const { kind } = request;
  const sellAmountBeforeFee = readAtoms('sellAmountBeforeFee', request.sellAmountBeforeFee);
  if (typeof sellAmountBeforeFee === 'bigint') return { kind, sellAmountBeforeFee };
  const sellAmountAfterFee = readAtoms('sellAmountAfterFee', request.sellAmountAfterFee);
  if (typeof sellAmountAfterFee === 'bigint') return { kind, sellAmountAfterFee };
  return sellAmountBeforeFee ?? sellAmountAfterFee ?? missing('sellAmountBeforeFee');
}

/** @returns `undefined` when there is none. */
function readAtoms(path: string, text: string | null | undefined): bigint | OrderBookError | undefined {
  if (text === undefined || text === null) return undefined;
  const value = parseUint256(text);
  if (typeof value === 'bigint' && value > 0n) return value;
  const wrong =
    value === 'overflow' ? 'does not fit in 256 bits' : value === 0n ? 'must not be 0' : 'must be decimal digits only';
  return invalid(path, `${path} ${wrong}`);
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
  return new OrderBookError('InvalidParameter', description, { path });
}

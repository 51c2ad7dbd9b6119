import type * as z from 'zod/mini';
import { anyKind, purchase, sale } from '../admission/quote-request-schema.ts';
import { OrderBookError } from '../errors.ts';
import { formatValue } from '../protocol/format-value.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import { type BuyTokenDestination, MAX_UINT32, type SellTokenSource } from '../protocol/order.ts';
import type { PriceQuality } from '../protocol/quote-request.ts';
import { parseShape } from '../protocol/shape.ts';
import { isEcdsa, type SigningScheme } from '../protocol/signature.ts';
import { parseUint256 } from '../protocol/uint256.ts';
import type { QuoteSide } from './fee.ts';

/** How the order will be signed and placed; determines its gas and the expiry of its quote. */
export interface QuotedScheme {
  readonly scheme: SigningScheme;
  readonly onchain: boolean;
  /** Gas units for checking the signature on chain. */
  readonly gas: number;
}

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
    value === 'overflow'
      ? 'does not fit in 256 bits'
      : value === 0n
        ? 'must not be 0'
        : `must be decimal digits only, got ${formatValue(text)}`;
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

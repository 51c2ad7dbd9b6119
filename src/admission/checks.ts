import { OrderBookError } from '../errors.ts';
import { NATIVE_MARKER } from '../protocol/chains.ts';
import type { Address } from '../protocol/hex.ts';
import type { Hooks } from '../protocol/metadata.ts';
import type { OrderData } from '../protocol/order.ts';
import type { Rules } from '../protocol/profile.ts';
import type { SigningScheme } from '../protocol/signature.ts';
import { getHooksGas } from '../protocol/trampoline.ts';
import { formatIsoDate } from '../records/order-json.ts';
import type { KnownDocument } from './documents.ts';
import type { Limits, TokenPolicy } from './limits.ts';
import type { VerifiedOrder } from './verified-order.ts';

/** The inputs of a check, besides the order. */
export interface CheckContext {
  readonly limits: Limits;
  readonly tokens: TokenPolicy;
  /** Seconds since 1970. */
  readonly now: number;
}

/** The inputs of an order check, besides the order. */
export interface OrderCheckContext extends CheckContext {
  readonly eip1271: ContractSignatures;
  readonly rules: Rules;
}

/** The terms of an order without its amounts: the values that are known when a quote is requested. */
export interface Terms {
  readonly data: Pick<OrderData, 'sellToken' | 'buyToken' | 'receiver' | 'validTo' | 'kind'>;
  readonly creation: { readonly signingScheme: SigningScheme };
  readonly owner: Address;
}

/** The terms that are known when a quote of an order to submit is requested. */
export interface SubmissionTerms extends Terms {
  readonly data: Terms['data'] & Pick<OrderData, 'sellTokenBalance' | 'buyTokenBalance'>;
  readonly document: Pick<KnownDocument, 'content'>;
}

/** How contract signatures are handled: verified on chain, accepted without a check, or rejected. */
export type ContractSignatures = 'verified' | 'unverified' | 'rejected';

/** A pure, local check with its own rejection. */
export type Check<Subject = VerifiedOrder, Context = OrderCheckContext> = (
  subject: Subject,
  context: Context,
) => OrderBookError | undefined;

const amountsAreNotZero: Check = ({ data }) => {
  if (data.sellAmount > 0n && data.buyAmount > 0n) return undefined;
  const field = data.sellAmount === 0n ? 'sellAmount' : 'buyAmount';
  return new OrderBookError('ZeroAmount', `${field} is 0`, { field });
};

/**
 * Checks that the tokens differ. Wrapped and native currency count as different. See docs/internals/decisions.md#d2-10.
 */
const tokensDiffer: Check<Terms, CheckContext> = ({ data }, { tokens }) => {
  const unwraps = data.sellToken === tokens.wrappedNative && data.buyToken === NATIVE_MARKER;
  if (data.sellToken !== data.buyToken && !unwraps) return undefined;
  const policy = unwraps ? tokens.pairs.wrappedToNative : tokens.pairs.sameToken;
  if (policy === 'accept' || (policy === 'sell' && data.kind === 'sell')) return undefined;
  return new OrderBookError('SameBuyAndSellToken', undefined, { sellToken: data.sellToken, buyToken: data.buyToken });
};

/** Rejects balances of the vault, if the rules of the book do. */
const vaultBalancesAreAccepted: Check<SubmissionTerms> = ({ data }, { rules }) => {
  if (rules.vaultBalances === 'accept') return undefined;
  const { sellTokenBalance, buyTokenBalance } = data;
  if (buyTokenBalance !== 'erc20') {
    return new OrderBookError('UnsupportedBuyTokenDestination', undefined, { buyTokenBalance });
  }
  if (sellTokenBalance === 'erc20') return undefined;
  return new OrderBookError('UnsupportedSellTokenSource', undefined, { sellTokenBalance });
};

/** Rejects an order whose hooks and contract signature need too much gas. */
export function checkGas(hooks: Hooks, { maxOrderGas }: Limits, signatureGas = 0): OrderBookError | undefined {
  const gas = getHooksGas(hooks) + BigInt(signatureGas);
  if (gas <= maxOrderGas) return undefined;
  const description = `hooks and signature must need at most ${maxOrderGas} gas, got ${gas}`;
  return new OrderBookError('TooMuchGas', description, { gas: gas.toString(), limit: maxOrderGas });
}

const hooksAreAffordable: Check<SubmissionTerms> = ({ document }, { limits }) =>
  checkGas(document.content.hooks, limits);

/** Rejects native currency as the sell token, because it has no allowance. */
const sellTokenIsNotNative: Check<Terms, CheckContext> = ({ data }, { tokens }) => {
  if (data.sellToken !== NATIVE_MARKER) return undefined;
  const details = tokens.wrappedNative === undefined ? {} : { wrappedNative: tokens.wrappedNative };
  return new OrderBookError('InvalidNativeSellToken', 'sell the wrapped native token instead', details);
};

/** Rejects tokens that the host has deny-listed. */
const tokensAreSupported: Check<Terms, CheckContext> = ({ data }, { tokens }) => {
  const token = [data.sellToken, data.buyToken].find((address) => tokens.deniedTokens.has(address));
  return token && new OrderBookError('UnsupportedToken', `token ${token} is deny-listed`, { token });
};

/** Formats seconds since 1970 with their date. */
const dated = (time: number) => `${time} (${formatIsoDate(time * 1000)})`;

/** Checks that `validTo` is within the allowed window. See docs/internals/decisions.md#d2-9. */
const validToIsInWindow: Check<Terms, CheckContext> = ({ data, creation }, { limits, now }) => {
  const earliest = now + limits.minValidity;
  const latest = creation.signingScheme === 'presign' ? undefined : now + limits.maxValidity;
  const { validTo } = data;
  if (validTo >= earliest && (latest === undefined || validTo <= latest)) return undefined;
  const code = validTo < now ? 'OrderExpired' : validTo < earliest ? 'InsufficientValidTo' : 'ExcessiveValidTo';
  const window = `${earliest}${latest === undefined ? ' or later' : ` to ${latest}`}`;
  const details = { validTo, now, earliest, ...(latest === undefined ? {} : { latest }) };
  const description = `validTo must be ${window}, got ${dated(validTo)}; now is ${dated(now)}`;
  return new OrderBookError(code, description, details, code === 'OrderExpired' ? 'validTo' : undefined);
};

/** Checks that `validFrom` leaves the minimum validity until `validTo`. */
const validFromLeavesTime: Check<SubmissionTerms> = ({ data, document }, { limits }) => {
  const { validFrom } = document.content;
  const latest = data.validTo - limits.minValidity - 1;
  if (validFrom === undefined || validFrom <= latest) return undefined;
  const description = `validFrom must be at most ${latest}, got ${dated(validFrom)}`;
  return new OrderBookError('InvalidValidFrom', description, { validFrom, validTo: data.validTo, latest });
};

/** Rejects contract signatures if there is no chain to verify them. */
const contractSignatureIsSupported: Check<SubmissionTerms> = ({ creation }, { eip1271 }) => {
  const { signingScheme: scheme } = creation;
  if (scheme !== 'eip1271' || eip1271 !== 'rejected') return undefined;
  return new OrderBookError('UnsupportedSigningScheme', undefined, { scheme });
};

/** The checks that all orders and quotes have in common, so that a quoted order is not rejected by them. */
export const TERMS_CHECKS: readonly Check<Terms, CheckContext>[] = [
  tokensDiffer,
  sellTokenIsNotNative,
  tokensAreSupported,
  validToIsInWindow,
];

/** The checks that submitted orders and their quotes have in common. */
export const SUBMISSION_CHECKS: readonly Check<SubmissionTerms>[] = [
  vaultBalancesAreAccepted,
  ...TERMS_CHECKS,
  hooksAreAffordable,
  validFromLeavesTime,
  contractSignatureIsSupported,
];

/** The local checks that follow the signature check, in the order in which their rejections are reported. */
export const LOCAL_CHECKS: readonly Check[] = [amountsAreNotZero, ...SUBMISSION_CHECKS];

/** Checks that the request and the document of an order do not name different owners. */
export function checkNamedOwner(from: Address | undefined, signer: Address | undefined): OrderBookError | undefined {
  if (from === undefined || signer === undefined || from === signer) return undefined;
  return new OrderBookError('AppdataFromMismatch', `from is ${from}, metadata.signer is ${signer}`, { from, signer });
}

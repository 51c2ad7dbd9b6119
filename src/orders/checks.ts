import { OrderBookError } from '../errors.ts';
import { NATIVE_MARKER } from '../protocol/chains.ts';
import type { Address } from '../protocol/hex.ts';
import type { OrderData } from '../protocol/order.ts';
import type { SigningScheme } from '../protocol/signature.ts';
import type { Limits, TokenPolicy } from './limits.ts';
import type { VerifiedOrder } from './verified-order.ts';

/** What a check may look at besides the order. */
export interface CheckContext {
  readonly limits: Limits;
  readonly tokens: TokenPolicy;
  /** Seconds since 1970. */
  readonly now: number;
}

/** What a check of an order may look at besides. */
export interface OrderCheckContext extends CheckContext {
  readonly eip1271: ContractSignatures;
}

/** What is known of an order before its amounts are: all that a quote can be judged by. */
export interface Terms {
  readonly data: Pick<OrderData, 'sellToken' | 'buyToken' | 'receiver' | 'validTo'>;
  readonly creation: { readonly signingScheme: SigningScheme };
  readonly owner: Address;
}

/** What happens to contract signatures: a chain is asked, or all are let in, or none. */
export type ContractSignatures = 'verified' | 'unverified' | 'rejected';

/** A rule that an order must keep: pure, local, and with an answer of its own when it is broken. */
export type Check<Subject = VerifiedOrder, Context = OrderCheckContext> = (
  subject: Subject,
  context: Context,
) => OrderBookError | undefined;

/** Both amounts are positive (decision 2.11). */
const amountsAreNotZero: Check = ({ data }) => {
  if (data.sellAmount > 0n && data.buyAmount > 0n) return undefined;
  const field = data.sellAmount === 0n ? 'sellAmount' : 'buyAmount';
  return new OrderBookError('ZeroAmount', `${field} is 0`, { field });
};

/** An order buys something else than it sells; wrapping and native currency count as one token (decision 2.10). */
const tokensDiffer: Check<Terms, CheckContext> = ({ data }, { tokens }) => {
  const unwraps = data.sellToken === tokens.wrappedNative && data.buyToken === NATIVE_MARKER;
  if (data.sellToken !== data.buyToken && !unwraps) return undefined;
  return new OrderBookError('SameBuyAndSellToken', undefined, { sellToken: data.sellToken, buyToken: data.buyToken });
};

/** Native currency cannot be taken by an allowance (decision 2.10). */
const sellTokenIsNotNative: Check<Terms, CheckContext> = ({ data }, { tokens }) => {
  if (data.sellToken !== NATIVE_MARKER) return undefined;
  const help = tokens.wrappedNative === undefined ? {} : { wrappedNative: tokens.wrappedNative };
  return new OrderBookError('InvalidNativeSellToken', 'sell the wrapped native token instead', help);
};

/** Neither token is on the host's list (decision 2.10). */
const tokensAreSupported: Check<Terms, CheckContext> = ({ data }, { tokens }) => {
  const token = [data.sellToken, data.buyToken].find((address) => tokens.deniedTokens.has(address));
  return token && new OrderBookError('UnsupportedToken', `token ${token} is deny-listed`, { token });
};

/** `validTo` lies in the allowed window (decision 2.9). */
const validToIsInWindow: Check<Terms, CheckContext> = ({ data, creation }, { limits, now }) => {
  const earliest = now + limits.minValidity;
  const latest = creation.signingScheme === 'presign' ? undefined : now + limits.maxValidity;
  const { validTo } = data;
  if (validTo >= earliest && (latest === undefined || validTo <= latest)) return undefined;
  const code = validTo < now ? 'OrderExpired' : validTo < earliest ? 'InsufficientValidTo' : 'ExcessiveValidTo';
  const window = `${earliest}${latest === undefined ? ' or later' : ` to ${latest}`}`;
  const help = { validTo, now, earliest, ...(latest === undefined ? {} : { latest }) };
  return new OrderBookError(code, `validTo is ${validTo}, it may be ${window}; now is ${now}`, help);
};

/** An order is not to be valid so late that too little of its time is left (decision 2.9). */
const validFromLeavesTime: Check = ({ data, document }, { limits }) => {
  const { validFrom } = document.content;
  const latest = data.validTo - limits.minValidity - 1;
  if (validFrom === undefined || validFrom <= latest) return undefined;
  const description = `validFrom is ${validFrom}, it may be ${latest} at the latest`;
  return new OrderBookError('InvalidValidFrom', description, { validFrom, validTo: data.validTo, latest });
};

/** A contract's signature can be checked on a chain only (decision 2.7). */
const contractSignatureCanBeJudged: Check = ({ creation }, { eip1271 }) => {
  const { signingScheme: scheme } = creation;
  if (scheme !== 'eip1271' || eip1271 !== 'rejected') return undefined;
  return new OrderBookError('UnsupportedSigningScheme', undefined, { scheme });
};

/** The checks that orders and quotes have in common: whoever gets a quote can place the order (decision 2.9). */
export const TERMS_CHECKS: readonly Check<Terms, CheckContext>[] = [
  tokensDiffer,
  sellTokenIsNotNative,
  tokensAreSupported,
  validToIsInWindow,
];

/** The local checks that follow the signature, in the order in which their rejections are reported (decision 2.2). */
export const LOCAL_CHECKS: readonly Check[] = [
  amountsAreNotZero,
  ...TERMS_CHECKS,
  validFromLeavesTime,
  contractSignatureCanBeJudged,
];

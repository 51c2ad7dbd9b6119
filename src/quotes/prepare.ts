import { resolveDocument } from '../app-data/documents.ts';
import { OrderBookError } from '../errors.ts';
import type { Terms } from '../orders/checks.ts';
import { TERMS_CHECKS } from '../orders/checks.ts';
import type { Limits, TokenPolicy } from '../orders/limits.ts';
import type { PolicyCheckContext } from '../orders/policy.ts';
import { checkDenyList } from '../orders/policy.ts';
import type { Clock } from '../ports/clock.ts';
import type { Trade } from '../ports/estimator.ts';
import type { AppDataStore } from '../ports/store.ts';
import { ZERO_APP_DATA } from '../protocol/app-data.ts';
import { NATIVE_MARKER } from '../protocol/chains.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import { hooksGas } from '../protocol/trampoline.ts';
import { fixedAmount } from './fee.ts';
import type { CandidateContext } from './quote-candidate.ts';
import type { ParsedQuoteRequest } from './request.ts';
import { getValidTo, parseQuoteRequest } from './request.ts';

/** What a request is judged by before any source is asked. */
export interface PrepareContext extends PolicyCheckContext {
  readonly documents: AppDataStore;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly tokens: TokenPolicy;
  /** The fee on the volume in parts per million; `undefined` when there is none for these tokens. */
  readonly volumeFee: (sellToken: Address, buyToken: Address) => number | undefined;
  /** Milliseconds that the sources have when the request does not say, and at most. */
  readonly timeouts: { readonly usual: number; readonly longest: number };
}

/** A request that may be quoted: everything that is known without asking a source. */
export interface Prepared extends CandidateContext {
  readonly request: ParsedQuoteRequest;
  readonly validTo: number;
  readonly appDataHash: Hex;
  /** What the sources are asked. */
  readonly trade: Trade;
  /** Milliseconds. */
  readonly timeout: number;
}

/** What `withdraw` of the wrapped token takes, which sources are not asked about. */
const UNWRAP_GAS = 9_223n;

/** Judges a request as its order would be judged: shape, app data, then terms; and works out what to ask. */
export async function prepare(input: unknown, context: PrepareContext): Promise<Prepared | OrderBookError> {
  const request = parseQuoteRequest(input);
  if (request instanceof OrderBookError) return request;
  const { appData = ZERO_APP_DATA, appDataHash, sellToken, side } = request;
  // A hash is always good enough here, since a request without app data is one with the zero hash.
  const policy = { maxAppDataSize: context.limits.maxAppDataSize, appDataHashForm: true };
  const document = await resolveDocument({ appData, appDataHash }, context.documents, policy);
  if (document instanceof OrderBookError) return document;
  const now = Math.floor(context.clock.now() / 1000);
  const validTo = getValidTo(request, now);
  const terms = toTerms(request, validTo);
  const rejection = checkTerms(terms, now, context) ?? (await checkDenyList(terms, context));
  if (rejection !== undefined) return rejection;

  const unwraps = request.buyToken === NATIVE_MARKER;
  const { wrappedNative } = context.tokens;
  if (unwraps && wrappedNative === undefined) {
    return new OrderBookError('NoLiquidity', 'this book knows no token that stands for native currency');
  }
  const buyToken = unwraps && wrappedNative !== undefined ? wrappedNative : request.buyToken;
  const { usual, longest } = context.timeouts;
  return {
    request,
    side,
    validTo,
    appDataHash: document.hash,
    // One object for all sources: none of them can change what the others are asked.
    trade: Object.freeze({ sellToken, buyToken, kind: side.kind, amount: fixedAmount(side) }),
    extraGas: BigInt(request.signing.gas) + hooksGas(document.content.hooks),
    unwrapGas: unwraps ? UNWRAP_GAS : 0n,
    volumeFee: context.volumeFee(sellToken, request.buyToken),
    timeout: Math.min(request.timeout ?? usual, longest),
  };
}

function toTerms(request: ParsedQuoteRequest, validTo: number): Terms {
  const { sellToken, buyToken, receiver, from: owner, signing } = request;
  return { data: { sellToken, buyToken, receiver, validTo }, creation: { signingScheme: signing.scheme }, owner };
}

function checkTerms(terms: Terms, now: number, { limits, tokens }: PrepareContext): OrderBookError | undefined {
  for (const check of TERMS_CHECKS) {
    const rejection = check(terms, { limits, tokens, now });
    if (rejection !== undefined) return rejection;
  }
  return undefined;
}

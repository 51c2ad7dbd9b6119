import type { OrderCheckContext, SubmissionTerms } from '../admission/checks.ts';
import { checkNamedOwner, SUBMISSION_CHECKS, TERMS_CHECKS } from '../admission/checks.ts';
import { type FindDocument, type KnownDocument, resolveDocument } from '../admission/documents.ts';
import type { Limits, TokenPolicy } from '../admission/limits.ts';
import { checkDenyList, getQuoteQueue, type PolicyCheckContext } from '../admission/policy.ts';
import { OrderBookError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { Trade } from '../ports/estimator.ts';
import type { AppDataStore } from '../ports/store.ts';
import { ZERO_APP_DATA } from '../protocol/app-data.ts';
import { NATIVE_MARKER } from '../protocol/chains.ts';
import { type Address, type Hex, ZERO_ADDRESS } from '../protocol/hex.ts';
import type { Flashloan } from '../protocol/metadata.ts';
import { getHooksGas, getInteractions, type Interactions } from '../protocol/trampoline.ts';
import { getFixedAmount } from './fee.ts';
import type { CandidateContext, GasBounds } from './quote-candidate.ts';
import { getValidTo, type ParsedQuoteRequest, parseQuoteRequest } from './request.ts';

/** The dependencies of request validation. */
export interface PrepareContext extends PolicyCheckContext, Pick<OrderCheckContext, 'eip1271' | 'rules'> {
  readonly documents: AppDataStore;
  /** Finds a document that the store does not have. */
  readonly findDocument: FindDocument | undefined;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly tokens: TokenPolicy;
  readonly hooksTrampoline: Address;
  /** Returns the volume fee in parts per million; `undefined` if these tokens have none. */
  readonly volumeFee: (sellToken: Address, buyToken: Address) => number | undefined;
  readonly unverifiedGas: GasBounds;
  /** The default and the maximum time limit for the estimators, in milliseconds. */
  readonly timeouts: { readonly usual: number; readonly longest: number };
}

/** A validated quote request with everything that is known before the estimators are called. */
export interface Prepared extends CandidateContext {
  readonly request: ParsedQuoteRequest;
  readonly validTo: number;
  readonly appDataHash: Hex;
  /** The trade to estimate. */
  readonly trade: Trade;
  /** The calls of the hooks in the app data. */
  readonly hooks: Interactions;
  readonly flashloan: Flashloan | undefined;
  /** Milliseconds. */
  readonly timeout: number;
}

/** Gas for `withdraw` of the wrapped token, which estimates do not include. */
const UNWRAP_GAS = 9_223n;

/** Validates a quote request with the checks of its future order (shape, app data, terms) and derives the trade. */
export async function prepareQuote(input: unknown, context: PrepareContext): Promise<Prepared | OrderBookError> {
  const request = parseQuoteRequest(input);
  if (request instanceof OrderBookError) return request;
  const { appData = ZERO_APP_DATA, appDataHash, sellToken, side } = request;
  // A hash is always accepted, because a request without app data uses the zero hash.
  const policy = { maxAppDataSize: context.limits.maxAppDataSize, appDataHashForm: true, find: context.findDocument };
  const document = await resolveDocument({ appData, appDataHash }, context.documents, policy);
  if (document instanceof OrderBookError) return document;
  const now = Math.floor(context.clock.now() / 1000);
  const validTo = getValidTo(request, now);
  const terms = toTerms(request, validTo, document);
  const rejection =
    checkOwner(request, document) ??
    checkTerms(terms, request.signing.onchain, now, context) ??
    (await checkDenyList(terms, context, getQuoteQueue(terms.owner)));
  if (rejection !== undefined) return rejection;

  const unwraps = request.buyToken === NATIVE_MARKER;
  const { wrappedNative } = context.tokens;
  if (unwraps && wrappedNative === undefined) {
    return new OrderBookError('NoLiquidity', 'this book has no token that represents native currency');
  }
  const buyToken = unwraps && wrappedNative !== undefined ? wrappedNative : request.buyToken;
  const { usual, longest } = context.timeouts;
  return {
    request,
    side,
    validTo,
    appDataHash: document.hash,
    // Frozen, so that an estimator cannot change the trade of the others.
    trade: Object.freeze({ sellToken, buyToken, kind: side.kind, amount: getFixedAmount(side) }),
    hooks: getInteractions(document.content.hooks, context.hooksTrampoline),
    flashloan: document.content.flashloan,
    extraGas: BigInt(request.signing.gas) + getHooksGas(document.content.hooks),
    unwrapGas: unwraps ? UNWRAP_GAS : 0n,
    unverifiedGas: context.unverifiedGas,
    volumeFee: context.volumeFee(sellToken, request.buyToken),
    timeout: Math.min(request.timeout ?? usual, longest),
  };
}

function toTerms(request: ParsedQuoteRequest, validTo: number, document: KnownDocument): SubmissionTerms {
  const { sellToken, buyToken, receiver, from: owner, signing, sellTokenBalance, buyTokenBalance } = request;
  return {
    data: { sellToken, buyToken, receiver, validTo, kind: request.side.kind, sellTokenBalance, buyTokenBalance },
    creation: { signingScheme: signing.scheme },
    owner,
    document,
  };
}

/** Checks that the document allows the owner, unless the owner is not known yet. An order on chain has no such rule. */
function checkOwner({ from, signing }: ParsedQuoteRequest, { content }: KnownDocument): OrderBookError | undefined {
  return signing.onchain || from === ZERO_ADDRESS ? undefined : checkNamedOwner(from, content.signer);
}

/** Checks the terms. A book cannot refuse an order on chain because of its hooks, balances or signature. */
function checkTerms(
  terms: SubmissionTerms,
  onchain: boolean,
  now: number,
  { limits, tokens, eip1271, rules }: PrepareContext,
): OrderBookError | undefined {
  for (const check of onchain ? TERMS_CHECKS : SUBMISSION_CHECKS) {
    const rejection = check(terms, { limits, tokens, eip1271, rules, now });
    if (rejection !== undefined) return rejection;
  }
  return undefined;
}

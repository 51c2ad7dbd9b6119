import { OrderBookError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { InsertOutcome, OrderInsert, OrderQuote, QuoteTerms, Store } from '../ports/store.ts';
import type { Hex } from '../protocol/hex.ts';
import type { OrderData } from '../protocol/order.ts';
import type { SigningScheme } from '../protocol/signature.ts';
import { isEcdsa } from '../protocol/signature.ts';
import type { Verifier } from '../protocol/verifier.ts';
import type { Candidate } from './candidate.ts';
import { LOCAL_CHECKS } from './checks.ts';
import type { ParsedCreation } from './creation.ts';
import { parseOrderCreation } from './creation.ts';
import { resolveDocument } from './document.ts';
import type { Limits, TokenPolicy } from './limits.ts';
import type { ShownDomain } from './owner.ts';
import { authenticate } from './owner.ts';
import { renderBody } from './wire.ts';

/** What admission works with. */
export interface AdmissionContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly verifier: Verifier;
  readonly domain: ShownDomain;
  readonly limits: Limits;
  readonly tokens: TokenPolicy;
  /** Whether quotes are given out here, so that an order which names none may still have one. */
  readonly quoting: boolean;
  /** Whether contract signatures are let in though nobody can check them. */
  readonly eip1271: 'refuse' | 'accept-unverified';
}

export interface SubmitOptions {
  /** A transaction of the host to join, in the store's own terms; the host commits it. */
  readonly transaction?: unknown;
  /** Whether an order that is stored already counts as accepted, with `existing: true`. Default: it is refused. */
  readonly acceptExisting?: boolean;
}

/** What became of a submitted order. */
export type SubmitResult =
  | { readonly status: 'accepted'; readonly uid: Hex /** It was stored before. */; readonly existing: boolean }
  | { readonly status: 'rejected'; readonly error: OrderBookError };

/**
 * Admits an order, or says which rule it breaks first (decision 2.2). Cheap and local checks come before remote ones.
 */
export async function submit(
  input: unknown,
  context: AdmissionContext,
  options: SubmitOptions = {},
): Promise<SubmitResult> {
  const candidate = await examine(input, context);
  if (candidate instanceof OrderBookError) return { status: 'rejected', error: candidate };

  const refusal = checkLocally(candidate, context);
  if (refusal !== undefined && !(await isStored(candidate.uid, context.store))) {
    return { status: 'rejected', error: refusal };
  }
  // An order that is stored already is called a duplicate, whatever else is wrong with it by now.
  const outcome: InsertOutcome =
    refusal === undefined ? await insert(candidate, context, options) : { status: 'duplicate' };
  return settle(candidate, outcome, options);
}

/** Shape, fee, app data, owner and signature: what must be known before an order has a UID. */
async function examine(input: unknown, context: AdmissionContext): Promise<Candidate | OrderBookError> {
  const creation = parseOrderCreation(input);
  if (creation instanceof OrderBookError) return creation;
  if (!creation.feeIsZero) return new OrderBookError('NonZeroFee');
  const document = await resolveDocument(creation, context.store.appData, context.limits.maxAppDataSize);
  if (document instanceof OrderBookError) return document;
  return authenticate(creation, document, context.verifier, context.domain);
}

function checkLocally(candidate: Candidate, context: AdmissionContext): OrderBookError | undefined {
  const now = Math.floor(context.clock.now() / 1000);
  for (const check of LOCAL_CHECKS) {
    const refusal = check(candidate, { limits: context.limits, tokens: context.tokens, now });
    if (refusal !== undefined) return refusal;
  }
  return contractSignatureIsAllowed(candidate.creation, context);
}

/** A contract's signature can be checked on a chain only (decision 2.7). */
function contractSignatureIsAllowed(
  { signingScheme }: ParsedCreation,
  { eip1271 }: AdmissionContext,
): OrderBookError | undefined {
  if (signingScheme !== 'eip1271' || eip1271 === 'accept-unverified') return undefined;
  return new OrderBookError('UnsupportedSigningScheme', undefined, { scheme: signingScheme });
}

async function isStored(uid: Hex, store: Store): Promise<boolean> {
  return (await store.orders.get([uid])).length > 0;
}

async function insert(
  candidate: Candidate,
  context: AdmissionContext,
  { transaction }: SubmitOptions,
): Promise<InsertOutcome> {
  const { store, clock, limits, domain } = context;
  const { data, uid, owner, document, signature } = candidate;
  const { signingScheme } = candidate.creation;
  const creationDate = clock.now();
  const authenticated = isEcdsa(signingScheme);
  const quote = await findQuote(candidate, creationDate, context);
  const cap = authenticated ? limits.maxOpenOrders : limits.maxPendingOrders;
  const entry: OrderInsert = {
    order: {
      uid,
      owner,
      creationDate,
      sellToken: data.sellToken,
      buyToken: data.buyToken,
      signingScheme,
      validTo: data.validTo,
      state: initialState(signingScheme),
      budget: authenticated ? 'open' : 'pending',
      appData: document.hash,
      body: renderBody({
        ...{ uid, owner, data, signingScheme, signature, creationDate },
        settlementContract: domain.verifyingContract,
      }),
      ...(quote === undefined ? {} : { quote }),
    },
    // The zero hash stands for `{}` without being its hash, so there is no document to store under it.
    ...(document.supplied ? { document: { hash: document.hash, document: document.text } } : {}),
    ...(cap === undefined ? {} : { cap }),
  };
  const [outcome] = await store.orders.insert([entry], transaction === undefined ? {} : { transaction });
  if (outcome === undefined) throw new Error('the store gave no outcome for an inserted order');
  return outcome;
}

/**
 * Finds the quote that an order was placed upon: the one it names, or else the best that fits. A quote that does not
 * fit never fails an order (decision 3.3).
 */
async function findQuote(
  { data, creation: { quoteId } }: Candidate,
  now: number,
  { store, quoting }: AdmissionContext,
): Promise<OrderQuote | undefined> {
  if (quoteId === undefined && !quoting) return undefined;
  const named = quoteId === undefined ? {} : { id: quoteId };
  return store.quotes.match({ ...termsOf(data), ...named, quoteKind: 'standard', now });
}

/** What an order has in common with the quote it was placed upon. */
function termsOf({ sellToken, buyToken, kind, sellAmount, buyAmount }: OrderData): QuoteTerms {
  return { sellToken, buyToken, kind, amount: (kind === 'sell' ? sellAmount : buyAmount).toString() };
}

function initialState(scheme: SigningScheme): 'open' | 'presignaturePending' {
  return scheme === 'presign' ? 'presignaturePending' : 'open';
}

function settle({ uid }: Candidate, outcome: InsertOutcome, options: SubmitOptions): SubmitResult {
  switch (outcome.status) {
    case 'inserted':
      return { status: 'accepted', uid, existing: false };
    case 'duplicate':
      if (options.acceptExisting) return { status: 'accepted', uid, existing: true };
      return { status: 'rejected', error: new OrderBookError('DuplicatedOrder', undefined, { uid }) };
    case 'capped': {
      const { limit, count } = outcome;
      const error = new OrderBookError(
        'TooManyLimitOrders',
        `the owner has ${count} open orders, ${limit} are allowed`,
        {
          limit,
          count,
        },
      );
      return { status: 'rejected', error };
    }
    case 'irreplaceable':
      throw new Error('the store answered about a replacement that nobody asked for');
  }
}

import { resolveDocument } from '../app-data/documents.ts';
import { OrderBookError } from '../errors.ts';
import { seconds } from '../ports/clock.ts';
import type { InsertOutcome } from '../ports/store.ts';
import type { Hex } from '../protocol/hex.ts';
import type { AdmissionContext, Batch, RemoteCheck } from './admission.ts';
import type { UnverifiedOrder } from './authenticate.ts';
import { authenticate, parseUnverifiedOrder } from './authenticate.ts';
import { LOCAL_CHECKS } from './checks.ts';
import { parseOrderCreation } from './creation.ts';
import { toOrderInsert, toRejection } from './insert.ts';
import { checkOnChain } from './on-chain-checks.ts';
import { checkDenyList } from './policy.ts';
import { findQuote } from './quote-link.ts';
import { checkReplacement } from './replacement.ts';
import type { VerifiedOrder } from './verified-order.ts';

/** How an order is submitted: within the host's transaction, or content with the order that is there already. */
export interface SubmitOptions {
  /** A transaction of the host to join, in the store's own terms; the host commits it. */
  readonly transaction?: unknown;
  /** Whether an order that is stored already counts as accepted, with `existing: true`. Default: it is rejected. */
  readonly acceptExisting?: boolean;
}

/** What became of a submitted order. */
export type SubmitResult =
  | { readonly status: 'accepted'; readonly uid: Hex /** It was stored before. */; readonly existing: boolean }
  | { readonly status: 'rejected'; readonly error: OrderBookError };

/**
 * The checks that take asking, in the order in which their rejections are reported. Each begins once the one before it
 * has passed.
 */
const REMOTE_CHECKS: readonly RemoteCheck[] = [checkDenyList, checkReplacement, checkOnChain];

/**
 * Admits orders, or says of each which rule it breaks first, in this order (decision 2.2): shape, fee, app data, owner
 * and signature, duplicate, the local checks, the remote checks, the link to a quote, which rejects nothing, and what
 * the insert itself decides: duplicate, replacement, cap. Signatures are recovered together, and what passes is inserted
 * in one step.
 *
 * @returns a result for each, in the order of the list.
 */
export async function submit(
  inputs: readonly unknown[],
  context: AdmissionContext,
  options: SubmitOptions = {},
): Promise<SubmitResult[]> {
  const claims = await Promise.all(
    inputs.map(async (input) => {
      // A transaction of the host is not held open for the sake of others.
      if (options.transaction === undefined) await context.pace();
      return examine(input, context);
    }),
  );
  const candidates = await authenticate(claims, context);
  const verdicts = await check(candidates.filter(isVerifiedOrder), context);
  const admitted = [...verdicts].flatMap(([candidate, verdict]) => (verdict === 'admit' ? [candidate] : []));
  const outcomes = await insert(admitted, context, options);
  return candidates.map((candidate) => {
    if (candidate instanceof OrderBookError) return { status: 'rejected', error: candidate };
    const verdict = verdicts.get(candidate);
    if (verdict instanceof OrderBookError) return { status: 'rejected', error: verdict };
    return settle(candidate, outcomes.get(candidate) ?? DUPLICATE, context, options);
  });
}

const DUPLICATE = { status: 'duplicate' } as const;

function isVerifiedOrder(value: VerifiedOrder | OrderBookError): value is VerifiedOrder {
  return !(value instanceof OrderBookError);
}

/** Shape, fee, app data and owner: what must be known before a signature can be judged. */
async function examine(input: unknown, context: AdmissionContext): Promise<UnverifiedOrder | OrderBookError> {
  const creation = parseOrderCreation(input);
  if (creation instanceof OrderBookError) return creation;
  if (!creation.feeIsZero) return new OrderBookError('NonZeroFee', undefined, { field: 'feeAmount', allowed: '0' });
  const document = await resolveDocument(creation, context.store.appData, context.documents);
  if (document instanceof OrderBookError) return document;
  return parseUnverifiedOrder(creation, document, context.verifier.hasher, context.domain);
}

/** What is to become of an order: it is inserted, rejected, or there already. */
type Verdict = 'admit' | 'duplicate' | OrderBookError;

/**
 * Runs every check. An order that is stored already is called a duplicate, whatever else is wrong with it by now. The
 * insert finds that out by itself, so that the store is asked only about orders that would be rejected otherwise, or for
 * which others would be asked.
 */
async function check(
  candidates: readonly VerifiedOrder[],
  context: AdmissionContext,
): Promise<Map<VerifiedOrder, Verdict>> {
  const rejections = new Map(candidates.map((candidate) => [candidate, checkLocally(candidate, context)]));
  const suspects = candidates.filter((each) => rejections.get(each) !== undefined || needsRemoteChecks(each, context));
  const stored = await storedAmong(suspects, context);
  const batch: Batch = new Set(candidates.map(({ uid }) => uid));
  const verdicts = candidates.map(async (candidate): Promise<[VerifiedOrder, Verdict]> => {
    if (stored.has(candidate.uid)) return [candidate, 'duplicate'];
    const rejection = rejections.get(candidate) ?? (await checkRemotely(candidate, context, batch));
    return [candidate, rejection ?? 'admit'];
  });
  return new Map(await Promise.all(verdicts));
}

function checkLocally(candidate: VerifiedOrder, context: AdmissionContext): OrderBookError | undefined {
  const { limits, tokens, eip1271, clock } = context;
  const rules = { limits, tokens, eip1271, now: seconds(clock) };
  for (const check of LOCAL_CHECKS) {
    const rejection = check(candidate, rules);
    if (rejection !== undefined) return rejection;
  }
  return undefined;
}

function needsRemoteChecks({ document }: VerifiedOrder, { chain, host }: AdmissionContext): boolean {
  return chain !== undefined || host.isDenied !== undefined || document.content.replacedOrder !== undefined;
}

async function checkRemotely(
  candidate: VerifiedOrder,
  context: AdmissionContext,
  batch: Batch,
): Promise<OrderBookError | undefined> {
  for (const check of REMOTE_CHECKS) {
    const rejection = await check(candidate, context, batch);
    if (rejection !== undefined) return rejection;
  }
  return undefined;
}

async function storedAmong(suspects: readonly VerifiedOrder[], { store }: AdmissionContext): Promise<ReadonlySet<Hex>> {
  if (suspects.length === 0) return new Set();
  return new Set((await store.orders.get(suspects.map(({ uid }) => uid))).map(({ uid }) => uid));
}

async function insert(
  candidates: readonly VerifiedOrder[],
  context: AdmissionContext,
  { transaction }: SubmitOptions,
): Promise<ReadonlyMap<VerifiedOrder, InsertOutcome>> {
  if (candidates.length === 0) return new Map();
  const entries = await Promise.all(
    candidates.map(async (candidate) => toOrderInsert(candidate, await findQuote(candidate, context), context)),
  );
  const outcomes = await context.insert(entries, transaction === undefined ? {} : { transaction });
  return new Map(
    candidates.map((candidate, i) => {
      const outcome = outcomes[i];
      if (outcome === undefined) throw new Error('the store gave no outcome for an inserted order');
      return [candidate, outcome];
    }),
  );
}

function settle(
  candidate: VerifiedOrder,
  outcome: InsertOutcome,
  context: AdmissionContext,
  { acceptExisting = false }: SubmitOptions,
): SubmitResult {
  const error = toRejection(outcome, candidate, context);
  if (error === undefined) return { status: 'accepted', uid: candidate.uid, existing: false };
  if (acceptExisting && outcome.status === 'duplicate')
    return { status: 'accepted', uid: candidate.uid, existing: true };
  return { status: 'rejected', error };
}

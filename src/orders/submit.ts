import { LOCAL_CHECKS } from '../admission/checks.ts';
import { parseValidCreation } from '../admission/creation.ts';
import type { Relay, RelayOutcome } from '../admission/relay.ts';
import type { VerifiedOrder } from '../admission/verified-order.ts';
import { type AbortState, assertNotAborted } from '../concurrency/abort.ts';
import { lazy } from '../concurrency/lifecycle.ts';
import { type ErrorCode, OrderBookError } from '../errors.ts';
import { readMonotonic, seconds } from '../ports/clock.ts';
import type { NewOrder } from '../ports/order-record.ts';
import type { OrderQuote } from '../ports/quote-store.ts';
import type { InsertOutcome, OrderInsert } from '../ports/store.ts';
import { ZERO_APP_DATA } from '../protocol/app-data.ts';
import type { Hex } from '../protocol/hex.ts';
import { isEcdsa } from '../protocol/signature.ts';
import { toNewOrder } from '../records/order-json.ts';
import { type AdmissionContext, getCheckQueue, type RemoteCheck, type Submission } from './admission.ts';
import { authenticate, parseUnverifiedOrder, type UnverifiedOrder } from './authenticate.ts';
import { createReplacementError } from './cancel-errors.ts';

/** Options of a submission. */
export interface SubmitOptions {
  /** A transaction of the host to join, of the type that the store's driver uses. The host commits it. */
  readonly transaction?: unknown;
  /** Whether an order that is already stored is accepted, with `existing: true`. Default: false, it is rejected. */
  readonly acceptExisting?: boolean;
  /**
   * Identifies the sender, such as an address. Checks of orders whose owner is not proven by a key wait for those of
   * the same client. Default: they wait for those of the same owner.
   */
  readonly client?: string;
  /** Ends the submission before the insert when its sender has disconnected. Then the call rejects. */
  readonly signal?: AbortState;
}

/** The result of submitting one order. `existing`: whether it was stored before. */
export type SubmitResult =
  | { readonly status: 'accepted'; readonly uid: Hex; readonly existing: boolean }
  | { readonly status: 'rejected'; readonly error: OrderBookError }
  /**
   * The order may be stored: the outcome of the write is unknown. A read of the order by UID shows whether it is
   * stored.
   */
  | { readonly status: 'unknown'; readonly uid: Hex; readonly error: OrderBookError };

/** The schema of orders. Only invalid ones need it. */
const schema = lazy(() => import('../admission/creation-schema.ts'));

/** Loaded on first use, with the schema of app-data documents. */
const documents = lazy(() => import('../admission/documents.ts'));

/** The search for the quotes of orders. Loaded when a book starts. */
const quoteLink = lazy(() => import('./quote-link.ts'));

/** The checks on chain. Books without a chain client do not load them. */
const onChain = lazy(() => import('./on-chain-checks.ts'));

/** The check of the deny list. Books without one do not load it. */
const policy = lazy(() => import('../admission/policy.ts'));

/** The check of a replaced order. */
const replacement = lazy(() => import('./replacement.ts'));

/**
 * Loads the modules that most submissions to a book need, so that none waits for a file. The schema and replacements
 * are loaded on first use.
 */
export async function prepareSubmissions({ chain, host }: Pick<AdmissionContext, 'chain' | 'host'>): Promise<void> {
  await Promise.all([
    quoteLink.load(),
    chain === undefined ? undefined : onChain.load(),
    host.isDenied === undefined ? undefined : policy.load(),
  ]);
}

/**
 * The checks that query the store, the host or the chain, in the order in which their rejections are reported. Each
 * starts after the previous one has passed.
 */
const REMOTE_CHECKS: readonly RemoteCheck[] = [
  async (candidate, context, submission) => {
    if (context.host.isDenied === undefined) return undefined;
    const queue = getCheckQueue(candidate, context, submission);
    return policy.use(({ checkDenyList }) => checkDenyList(candidate, context, queue));
  },
  async (candidate, context, submission) => {
    if (candidate.document.content.replacedOrder === undefined) return undefined;
    return replacement.use(({ checkReplacement }) => checkReplacement(candidate, context, submission));
  },
  async (candidate, context, submission) => {
    if (context.chain === undefined) return undefined;
    return onChain.use(({ checkOnChain }) => checkOnChain(candidate, context, submission));
  },
];

/** Time in milliseconds for the steps of a submission that need only the store. */
const STORE_TIME = 1000;

/** Returns the maximum duration of a submission whose checks do not wait for those of other orders, in milliseconds. */
export function getMaxDuration({
  checkTimeout,
  orderQuoting,
}: Pick<AdmissionContext, 'checkTimeout' | 'orderQuoting'>): number {
  return REMOTE_CHECKS.length * checkTimeout + (orderQuoting?.timeout ?? 0) + STORE_TIME;
}

/**
 * Validates orders and inserts those that pass. The first failed check is reported, in this order of precedence (see
 * docs/internals/decisions.md#d2-2). {@link check} runs the local checks before it searches for duplicates:
 * 1. shape, fee and app data;
 * 2. owner and signature;
 * 3. duplicate;
 * 4. local checks;
 * 5. remote checks;
 * 6. the checks of the insert: duplicate, replacement, quota.
 *
 * The link to a quote rejects nothing. Signatures are recovered as a batch, and accepted orders are inserted in one
 * step.
 *
 * @returns One result per order, in input order.
 */
export async function submit(
  inputs: readonly unknown[],
  context: AdmissionContext,
  options: SubmitOptions = {},
): Promise<SubmitResult[]> {
  const { signal: caller, client } = options;
  const parsed = await Promise.all(
    inputs.map(async (input) => {
      // A transaction of the host must not stay open while other requests run.
      if (options.transaction === undefined) await context.submissions.pace(client);
      assertNotAborted(caller);
      return parseInput(input, context);
    }),
  );
  const candidates = await authenticate(parsed, context);
  const decisions = await check(candidates, context, { client, caller });
  assertNotAborted(caller);
  const admitted = candidates.filter((_, i): _ is VerifiedOrder => decisions[i] === 'admit');
  const outcomes = (await insert(admitted, context, options)).values();
  // The store has one outcome for each admitted order.
  return candidates.map((candidate, i) => {
    const decision = decisions[i];
    if (candidate instanceof OrderBookError) return { status: 'rejected', error: candidate };
    if (decision instanceof OrderBookError) return { status: 'rejected', error: decision };
    const outcome = decision === 'duplicate' ? DUPLICATE : outcomes.next().value;
    if (outcome === undefined) throw new Error('the store gave no outcome');
    return toResult(candidate, outcome, context, options);
  });
}

const DUPLICATE = { status: 'duplicate' } as const;

/** Parses an order and resolves its document: everything that is needed before the signature is checked. */
export async function parseInput(input: unknown, context: AdmissionContext): Promise<UnverifiedOrder | OrderBookError> {
  const creation = parseValidCreation(input) ?? (await schema.load()).parseOrderCreation(input);
  if (creation instanceof OrderBookError) return creation;
  if (!creation.feeIsZero) return new OrderBookError('NonZeroFee', undefined, { field: 'feeAmount', allowed: '0' });
  const { resolveDocument } = documents.loaded ?? (await documents.load());
  const document = await resolveDocument(creation, context.store.appData, context.documents);
  if (document instanceof OrderBookError) return document;
  return parseUnverifiedOrder(creation, document, context.verifier.hasher, context.domain);
}

/** The outcome of the checks of one order. */
type Decision = 'admit' | 'duplicate' | OrderBookError;

/**
 * Runs every check. An order that is already stored is reported as a duplicate, even if another check fails now. The
 * insert detects duplicates itself, so the store is only queried for orders that would be rejected or need remote
 * checks.
 *
 * @param candidates - Verified orders, and the errors of those that are already rejected.
 * @returns One decision per candidate, in input order.
 */
async function check(
  candidates: readonly (VerifiedOrder | OrderBookError)[],
  context: AdmissionContext,
  origin: Omit<Submission, 'batch'>,
): Promise<Decision[]> {
  const { client } = origin;
  const pending = client !== undefined && hasUnsigned(candidates) ? await context.pending.load() : undefined;
  const rejections = candidates.map((each) => {
    if (each instanceof OrderBookError) return each;
    const rejection = checkLocally(each, context);
    return rejection ?? (client !== undefined && isUnsigned(each) ? pending?.check(each.owner, client) : undefined);
  });
  const verified = candidates.filter((each): each is VerifiedOrder => !(each instanceof OrderBookError));
  const lookups = candidates.filter(
    (each, i): each is VerifiedOrder =>
      !(each instanceof OrderBookError) && (rejections[i] !== undefined || needsRemoteChecks(each, context)),
  );
  if (lookups.length === 0) return rejections.map((rejection) => rejection ?? 'admit');

  const stored = await findStored(lookups, context);
  const submission = { ...origin, batch: new Set(verified.map(({ uid }) => uid)) };
  return Promise.all(
    candidates.map(async (candidate, i): Promise<Decision> => {
      if (candidate instanceof OrderBookError) return candidate;
      if (stored.has(candidate.uid)) return 'duplicate';
      const rejection = rejections[i] ?? (await checkRemotely(candidate, context, submission));
      if (rejection === undefined) return 'admit';
      // Another submission may have stored the order during the remote checks, and replaced an order that they require.
      const isStored = !rejections[i] && (await findStored([candidate], context)).size > 0;
      return isStored ? 'duplicate' : rejection;
    }),
  );
}

/** Returns whether an order waits for its signature on chain. */
const isUnsigned = ({ creation }: VerifiedOrder) => creation.signingScheme === 'presign';

const hasUnsigned = (candidates: readonly (VerifiedOrder | OrderBookError)[]) =>
  candidates.some((each) => !(each instanceof OrderBookError) && isUnsigned(each));

function checkLocally(candidate: VerifiedOrder, context: AdmissionContext): OrderBookError | undefined {
  const { limits, tokens, eip1271, rules, clock } = context;
  const checkContext = { limits, tokens, eip1271, rules, now: seconds(clock) };
  for (const check of LOCAL_CHECKS) {
    const rejection = check(candidate, checkContext);
    if (rejection !== undefined) return rejection;
  }
  return undefined;
}

function needsRemoteChecks({ document }: VerifiedOrder, { chain, host, relay }: AdmissionContext): boolean {
  return (
    chain !== undefined ||
    relay !== undefined ||
    host.isDenied !== undefined ||
    document.content.replacedOrder !== undefined
  );
}

async function checkRemotely(
  candidate: VerifiedOrder,
  context: AdmissionContext,
  submission: Submission,
): Promise<OrderBookError | undefined> {
  for (const check of REMOTE_CHECKS) {
    const rejection = await check(candidate, context, submission);
    if (rejection !== undefined) return rejection;
  }
  return undefined;
}

async function findStored(lookups: readonly VerifiedOrder[], { store }: AdmissionContext): Promise<ReadonlySet<Hex>> {
  return new Set((await store.orders.get(lookups.map(({ uid }) => uid))).map(({ uid }) => uid));
}

/** Inserts orders with their quotes. Returns one outcome per order, in input order. */
async function insert(
  candidates: readonly VerifiedOrder[],
  context: AdmissionContext,
  { transaction, client }: SubmitOptions,
): Promise<RelayOutcome[]> {
  if (candidates.length === 0) return [];
  if (context.relay !== undefined) return relayOrders(candidates, context, context.relay, transaction);
  // A transaction of the host must not stay open while estimators run.
  const linking = transaction === undefined ? context : { ...context, orderQuoting: undefined };
  const quotes = await findQuotes(candidates, linking);
  const entries = candidates.map((candidate, i) => toOrderInsert(candidate, quotes[i], context));
  const options = transaction === undefined ? {} : { transaction };
  const since = readMonotonic(context.clock);
  const insertAll = (orders: readonly OrderInsert[]) => context.submissions.insert(orders, options, since);
  if (client === undefined || transaction !== undefined || !hasUnsigned(candidates)) return insertAll(entries);
  return (await context.pending.load()).insert(entries, client, insertAll);
}

/** Passes orders to the book behind this one, which decides whether they are stored. */
async function relayOrders(
  candidates: readonly VerifiedOrder[],
  context: AdmissionContext,
  relay: Relay,
  transaction: unknown,
): Promise<RelayOutcome[]> {
  if (transaction !== undefined)
    throw new TypeError('orders.submit: a transaction cannot be joined, because the upstream cannot roll back');
  const quotes = await findQuotes(candidates, context);
  const orders = candidates.map((candidate, i) => ({
    insert: toOrderInsert(candidate, quotes[i], context),
    quoteId: candidate.creation.quoteId,
  }));
  return relay.submit(orders, context.submissions.insert);
}

/** Returns the quotes of orders, in input order. Orders without a quote id have none in a book that does not quote. */
async function findQuotes(
  candidates: readonly VerifiedOrder[],
  context: AdmissionContext,
): Promise<readonly (OrderQuote | undefined)[]> {
  const isQuoted = ({ creation }: VerifiedOrder) => context.quoting || creation.quoteId !== undefined;
  if (!candidates.some(isQuoted)) return [];
  const { findQuote } = await quoteLink.load();
  return Promise.all(candidates.map((each) => (isQuoted(each) ? findQuote(each, context) : undefined)));
}

function toResult(
  candidate: VerifiedOrder,
  outcome: RelayOutcome,
  context: AdmissionContext,
  { acceptExisting = false }: SubmitOptions,
): SubmitResult {
  if (outcome.status === 'existing') return { status: 'accepted', uid: candidate.uid, existing: true };
  const error = outcome.status === 'rejected' ? outcome.error : toRejection(outcome, candidate, context);
  if (error === undefined) return { status: 'accepted', uid: candidate.uid, existing: false };
  if (acceptExisting && outcome.status === 'duplicate')
    return { status: 'accepted', uid: candidate.uid, existing: true };
  const { uid } = candidate;
  return error.code === 'OutcomeUnknown' ? { status: 'unknown', uid, error } : { status: 'rejected', error };
}

/** Creates the store's input from an order that has passed every check. */
export function toOrderInsert(
  candidate: VerifiedOrder,
  quote: OrderQuote | undefined,
  context: AdmissionContext,
): OrderInsert {
  const { document } = candidate;
  const { replacedOrder } = document.content;
  const admitted = { ...candidate, creationDate: context.clock.now() };
  const order = toNewOrder(admitted, { quotaClass: getQuotaClass(candidate, context) });
  const quota = getQuota(candidate, context);
  const limited = { ...order, validTo: getEffectiveValidity(order, context) };
  return {
    order: quote === undefined ? limited : { ...limited, quote },
    // The zero hash denotes `{}` but is not its hash, so no document is stored under it. Any other document is stored,
    // even if it was read from the store: it may have been deleted in the meantime.
    ...(document.hash === ZERO_APP_DATA ? {} : { document: { hash: document.hash, document: document.text } }),
    ...(quota === undefined ? {} : { quota }),
    ...(replacedOrder === undefined ? {} : { replaces: replacedOrder }),
  };
}

/** Returns the end of an order's effective validity, which is shorter while it waits for its signature. */
function getEffectiveValidity({ state, validTo }: NewOrder, { clock, limits }: AdmissionContext): number {
  const { maxPendingValidity } = limits;
  if (state !== 'presignaturePending' || maxPendingValidity === undefined) return validTo;
  return Math.min(validTo, seconds(clock) + maxPendingValidity);
}

/** Converts the store's outcome into a rejection; `undefined` if the order was inserted. */
export function toRejection(
  outcome: InsertOutcome,
  candidate: VerifiedOrder,
  context: AdmissionContext,
): OrderBookError | undefined {
  switch (outcome.status) {
    case 'inserted':
      return undefined;
    case 'duplicate':
      return new OrderBookError('DuplicatedOrder', undefined, { uid: candidate.uid });
    case 'quotaExceeded': {
      const { quota, count } = outcome;
      const quotaClass = getQuotaClass(candidate, context);
      const description = `the owner has ${count} ${quotaClass} orders, the quota is ${quota}`;
      return new OrderBookError('TooManyLimitOrders', description, {
        limit: quota,
        count,
        quotaClass,
        owner: candidate.owner,
      });
    }
    case 'notReplaceable': {
      const { replacedOrder } = candidate.document.content;
      if (replacedOrder === undefined) throw new Error('the store rejected a replacement of no order');
      return createReplacementError(replacedOrder, outcome.reason);
    }
    case 'busy':
    case 'unknown':
      return new OrderBookError('OutcomeUnknown', undefined, { uid: candidate.uid });
  }
}

/** Returns the quota class of an order: `open` if its owner is verified. See docs/internals/decisions.md#d2-25. */
function getQuotaClass({ creation }: VerifiedOrder, { eip1271 }: AdmissionContext): 'open' | 'pending' {
  if (isEcdsa(creation.signingScheme)) return 'open';
  return creation.signingScheme === 'eip1271' && eip1271 === 'verified' ? 'open' : 'pending';
}

function getQuota(candidate: VerifiedOrder, context: AdmissionContext): number | undefined {
  const limits = { ...context.limits, ...context.ownerLimits.get(candidate.owner) };
  return getQuotaClass(candidate, context) === 'open' ? limits.maxOpenOrders : limits.maxPendingOrders;
}

/** A finished submission of one or more orders. */
export interface SubmissionObservation {
  readonly accepted: number;
  /** The code of each rejected order. */
  readonly rejected: readonly ErrorCode[];
  /** Milliseconds from the call until all orders were stored or rejected. */
  readonly ms: number;
}

/** Summarizes the results of a submission. */
export function toSubmissionObservation(results: readonly SubmitResult[], ms: number): SubmissionObservation {
  const rejected = results.flatMap((result) => (result.status === 'rejected' ? [result.error.code] : []));
  return { accepted: results.length - rejected.length, rejected: rejected, ms };
}

import { type AsyncQueue, createAsyncQueue } from '../concurrency/async-queue.ts';
import { OrderBookError } from '../errors.ts';
import { readMonotonic } from '../ports/clock.ts';
import type { QuoteResponse, QuoteStreamEvent, QuoteStreamResult } from '../records/quote-results.ts';
import type { ValidatedEstimate } from './estimate-validation.ts';
import type { RaceSubscription } from './estimator-race.ts';
import type { GasCost } from './fee.ts';
import { type Prepared, prepareQuote } from './prepare.ts';
import type { CoveredCandidate, QuoteContext } from './quote.ts';
import { findBestCandidate, getGasCost, isUnverified, renderQuote } from './quote.ts';
import { isBetterCandidate, type QuoteCandidate } from './quote-candidate.ts';
import { createNoQuoteError, createShutdownError } from './rejection.ts';

/**
 * Quotes a trade and emits quotes as estimates arrive. Rejections that need no quote are returned before the stream
 * begins. The fee is computed from the first price of the sell token, because the median would have to wait for the
 * slowest estimator.
 */
export async function streamQuotes(
  input: unknown,
  context: QuoteContext,
  signal?: AbortSignal,
): Promise<QuoteStreamResult> {
  const prepared = await prepareQuote(input, context);
  signal?.throwIfAborted();
  if (prepared instanceof OrderBookError) return { status: 'rejected', error: prepared };

  const deadline = readMonotonic(context.clock) + prepared.timeout;
  const subscription = context.estimatorPool.estimates(prepared.trade, prepared.timeout).subscribe(prepared.timeout);
  const queue = createAsyncQueue<QuoteStreamEvent>(() => subscription.unsubscribe());
  let cost: GasCost | OrderBookError;
  try {
    cost = await getGasCost(prepared, context, 'first response', signal);
    signal?.throwIfAborted();
  } catch (aborted) {
    subscription.unsubscribe();
    throw aborted;
  }
  if (cost instanceof OrderBookError) {
    subscription.unsubscribe();
    return { status: 'rejected', error: cost };
  }
  const abort = () => queue.leave();
  signal?.addEventListener('abort', abort);
  let stopWaiting = () => {};
  const deadlineReached = new Promise<undefined>((resolve) => {
    stopWaiting = context.clock.after(deadline - readMonotonic(context.clock), () => resolve(undefined));
  });
  emitQuotes({ prepared, subscription, cost, queue, deadline, deadlineReached }, context)
    .catch((failure) => {
      context.onFailure(failure);
      queue.finish();
    })
    .finally(() => {
      signal?.removeEventListener('abort', abort);
      stopWaiting();
      subscription.unsubscribe();
    });
  return { status: 'streaming', quotes: queue };
}

interface QuoteStreamState {
  readonly prepared: Prepared;
  readonly subscription: RaceSubscription<readonly ValidatedEstimate[]>;
  readonly cost: GasCost;
  readonly queue: AsyncQueue<QuoteStreamEvent>;
  /** In milliseconds of `readMonotonic`. */
  readonly deadline: number;
  /** Fulfilled at the deadline, even if the store does not respond. */
  readonly deadlineReached: Promise<undefined>;
}

/**
 * Emits a quote for each better estimate until all have arrived or the reader has left. The estimates of different
 * estimators are simulated concurrently, so that a slow simulation delays no other quote.
 */
async function emitQuotes(
  { prepared, subscription, cost, queue, deadline, deadlineReached }: QuoteStreamState,
  context: QuoteContext,
): Promise<void> {
  let best: QuoteCandidate | undefined;
  let unverified: QuoteCandidate | undefined;
  let emitted = false;

  async function emit(candidate: QuoteCandidate | undefined): Promise<void> {
    if (candidate === undefined || queue.finished) return;
    // An estimate without a required simulation cannot be a quote, so it must not exclude worse ones.
    if (isUnverified(prepared, candidate.estimate, context)) {
      if (isBetterCandidate(candidate, unverified)) unverified = candidate;
      return;
    }
    if (!supersedes(candidate, best, isSimulated(prepared, context))) return;
    best = candidate;
    const { amounts } = candidate;
    if (amounts === undefined) return;
    emitted = true;
    const quote = await persistAndRender({ prepared, cost, deadlineReached }, { ...candidate, amounts }, context);
    queue.push({ type: 'quote', quote });
  }

  /** The end of the last event, so that a quote is not sent before an earlier one is stored. */
  let last = Promise.resolve();
  const simulations: Promise<void>[] = [];
  while (!queue.finished) {
    const estimates = subscription.responses[simulations.length];
    if (estimates === undefined) {
      if (subscription.over) break;
      await subscription.changed();
      continue;
    }
    const simulation = findCandidate({ prepared, cost, deadline }, estimates, context).then((candidate) => {
      last = last.then(() => emit(candidate));
      return last;
    });
    simulations.push(simulation.catch(context.onFailure));
  }
  await Promise.all(simulations);
  if (!emitted) {
    const error = subscription.closed
      ? createShutdownError()
      : (best ?? unverified)?.amounts === undefined
        ? createNoQuoteError(best ?? unverified, subscription)
        : new OrderBookError('QuoteNotVerified');
    queue.push({ type: 'error', ...(await context.convertCodes({ error })) });
  }
  queue.finish();
}

/** Returns the best of the estimates of one estimator, after their simulation. */
async function findCandidate(
  { prepared, cost, deadline }: Pick<QuoteStreamState, 'prepared' | 'cost' | 'deadline'>,
  estimates: readonly ValidatedEstimate[],
  context: QuoteContext,
): Promise<QuoteCandidate | undefined> {
  const { verification } = context;
  return verification !== undefined && isSimulated(prepared, context)
    ? verification.choose(prepared, estimates, cost, deadline)
    : findBestCandidate(prepared, estimates, cost);
}

const isSimulated = ({ request }: Prepared, { verification }: QuoteContext) =>
  verification !== undefined && request.priceQuality !== 'fast';

/** Returns whether a candidate is better than the best so far. A simulated one is better than any other. */
function supersedes(candidate: QuoteCandidate, best: QuoteCandidate | undefined, prefersVerified: boolean): boolean {
  const areCovered = candidate.amounts !== undefined && best?.amounts !== undefined;
  const { verified } = candidate.estimate;
  return prefersVerified && areCovered && verified !== best.estimate.verified
    ? verified
    : isBetterCandidate(candidate, best);
}

/** Stores a quote and renders it. If it cannot be stored, or not in time, it has no id. */
async function persistAndRender(
  { prepared, cost, deadlineReached }: Pick<QuoteStreamState, 'prepared' | 'cost' | 'deadlineReached'>,
  candidate: CoveredCandidate,
  { persister, onFailure }: QuoteContext,
): Promise<QuoteResponse> {
  const persisting = persister.persist(prepared.request, candidate, cost).catch((failure) => {
    onFailure(failure);
    return undefined;
  });
  return renderQuote(prepared, candidate, cost, await Promise.race([persisting, deadlineReached]));
}

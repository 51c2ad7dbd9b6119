import type { AsyncQueue } from '../concurrency/async-queue.ts';
import { createAsyncQueue } from '../concurrency/async-queue.ts';
import { OrderBookError } from '../errors.ts';
import type { ValidatedEstimate } from './estimate-validation.ts';
import type { RaceSubscription } from './estimator-race.ts';
import type { GasCost } from './fee.ts';
import type { Prepared } from './prepare.ts';
import { prepare } from './prepare.ts';
import type { Covered, QuoteContext } from './quote.ts';
import { findBestCandidate, getGasCost, present } from './quote.ts';
import type { QuoteCandidate } from './quote-candidate.ts';
import { isBetterCandidate } from './quote-candidate.ts';
import { noQuoteError, shuttingDownError } from './rejection.ts';
import type { QuoteResponse } from './response.ts';

/** One event of a stream: a quote better than all before it, or, when there was none at all, why. */
export type QuoteStreamEvent =
  | { readonly type: 'quote'; readonly quote: QuoteResponse }
  | { readonly type: 'error'; readonly error: OrderBookError };

/** What became of a request for a stream of quotes. */
export type QuoteStreamResult =
  | {
      readonly status: 'streaming';
      /** Ends when every source has answered, or at the deadline. Whoever leaves it early ends the work. */
      readonly quotes: AsyncIterable<QuoteStreamEvent>;
    }
  | { readonly status: 'rejected'; readonly error: OrderBookError };

/**
 * Quotes a trade as answers come in. What can be rejected without a quote is rejected before the stream begins; for the
 * fee the first price of the sell token will do, since waiting for all of them would be waiting for the slowest source.
 */
export async function streamQuotes(
  input: unknown,
  context: QuoteContext,
  signal?: AbortSignal,
): Promise<QuoteStreamResult> {
  const prepared = await prepare(input, context);
  signal?.throwIfAborted();
  if (prepared instanceof OrderBookError) return { status: 'rejected', error: prepared };

  const deadline = context.clock.now() + prepared.timeout;
  const seat = context.sources.estimates(prepared.trade, prepared.timeout).subscribe(prepared.timeout);
  const queue = createAsyncQueue<QuoteStreamEvent>(() => seat.unsubscribe());
  let cost: GasCost | OrderBookError;
  try {
    cost = await getGasCost(prepared, context, 'first answer', signal);
    signal?.throwIfAborted();
  } catch (aborted) {
    seat.unsubscribe();
    throw aborted;
  }
  if (cost instanceof OrderBookError) {
    seat.unsubscribe();
    return { status: 'rejected', error: cost };
  }
  const abort = () => queue.leave();
  signal?.addEventListener('abort', abort);
  let stopWaiting = () => {};
  const timeUp = new Promise<undefined>((resolve) => {
    stopWaiting = context.clock.after(deadline - context.clock.now(), () => resolve(undefined));
  });
  pump({ prepared, seat, cost, queue, timeUp }, context)
    .catch((failure) => {
      context.onFailure(failure);
      queue.finish();
    })
    .finally(() => {
      signal?.removeEventListener('abort', abort);
      stopWaiting();
      seat.unsubscribe();
    });
  return { status: 'streaming', quotes: queue };
}

interface QuoteStreamState {
  readonly prepared: Prepared;
  readonly seat: RaceSubscription<readonly ValidatedEstimate[]>;
  readonly cost: GasCost;
  readonly queue: AsyncQueue<QuoteStreamEvent>;
  /** Fulfilled at the deadline, which a store that hangs does not put off. */
  readonly timeUp: Promise<undefined>;
}

/** Turns answers into events until no more come or the reader has gone. */
async function pump({ prepared, seat, cost, queue, timeUp }: QuoteStreamState, context: QuoteContext): Promise<void> {
  let best: QuoteCandidate | undefined;
  let seen = 0;
  while (!queue.finished) {
    const answer = seat.answers[seen];
    if (answer === undefined) {
      if (seat.over) break;
      await seat.changed();
      continue;
    }
    seen++;
    const offer = findBestCandidate(prepared, answer, cost);
    if (offer === undefined || !isBetterCandidate(offer, best)) continue;
    best = offer;
    const { amounts } = offer;
    if (amounts === undefined) continue;
    const quote = await keepAndPresent({ prepared, cost, timeUp }, { ...offer, amounts }, context);
    queue.push({ type: 'quote', quote });
  }
  if (best?.amounts === undefined) {
    queue.push({ type: 'error', error: seat.closed ? shuttingDownError() : noQuoteError(best, seat.rejections) });
  }
  queue.finish();
}

/** A quote that cannot be stored, or not in time, is still a quote: it has no id. */
async function keepAndPresent(
  { prepared, cost, timeUp }: Pick<QuoteStreamState, 'prepared' | 'cost' | 'timeUp'>,
  offer: Covered,
  { keeper, onFailure }: QuoteContext,
): Promise<QuoteResponse> {
  const keeping = keeper.keep(prepared.request, offer, cost).catch((failure) => {
    onFailure(failure);
    return undefined;
  });
  return present(prepared, offer, cost, await Promise.race([keeping, timeUp]));
}

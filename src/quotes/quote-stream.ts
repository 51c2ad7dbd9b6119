import type { Queue } from '../concurrency/async-queue.ts';
import { createQueue } from '../concurrency/async-queue.ts';
import { OrderBookError } from '../errors.ts';
import type { SoundEstimate } from './estimate-validation.ts';
import type { Seat } from './estimator-race.ts';
import type { GasCost } from './fee.ts';
import type { Prepared } from './prepare.ts';
import { prepare } from './prepare.ts';
import type { Covered, QuoteContext } from './quote.ts';
import { bestOffer, costOf, present } from './quote.ts';
import type { Offer } from './quote-candidate.ts';
import { isBetter } from './quote-candidate.ts';
import { bookCloses, noQuote } from './rejection.ts';
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
 * Quotes a trade as answers come in. What can be refused without a quote is refused before the stream begins; for the
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
  const seat = context.sources.estimates(prepared.trade, prepared.timeout).join(prepared.timeout);
  const queue = createQueue<QuoteStreamEvent>(() => seat.leave());
  let cost: GasCost | OrderBookError;
  try {
    cost = await costOf(prepared, context, 'first answer', signal);
    signal?.throwIfAborted();
  } catch (aborted) {
    seat.leave();
    throw aborted;
  }
  if (cost instanceof OrderBookError) {
    seat.leave();
    return { status: 'rejected', error: cost };
  }
  const abort = () => queue.leave();
  signal?.addEventListener('abort', abort);
  let stopWaiting = () => {};
  const timeUp = new Promise<undefined>((resolve) => {
    stopWaiting = context.clock.after(deadline - context.clock.now(), () => resolve(undefined));
  });
  pump({ prepared, seat, cost, queue, timeUp }, context)
    .catch((fault) => {
      context.onFault(fault);
      queue.finish();
    })
    .finally(() => {
      signal?.removeEventListener('abort', abort);
      stopWaiting();
      seat.leave();
    });
  return { status: 'streaming', quotes: queue };
}

interface Stream {
  readonly prepared: Prepared;
  readonly seat: Seat<readonly SoundEstimate[]>;
  readonly cost: GasCost;
  readonly queue: Queue<QuoteStreamEvent>;
  /** Fulfilled at the deadline, which a store that hangs does not put off. */
  readonly timeUp: Promise<undefined>;
}

/** Turns answers into events until no more come or the reader has gone. */
async function pump({ prepared, seat, cost, queue, timeUp }: Stream, context: QuoteContext): Promise<void> {
  let best: Offer | undefined;
  let seen = 0;
  while (!queue.finished) {
    const answer = seat.answers[seen];
    if (answer === undefined) {
      if (seat.over) break;
      await seat.changed();
      continue;
    }
    seen++;
    const offer = bestOffer(prepared, answer, cost);
    if (offer === undefined || !isBetter(offer, best)) continue;
    best = offer;
    const { amounts } = offer;
    if (amounts === undefined) continue;
    const quote = await keepAndPresent({ prepared, cost, timeUp }, { ...offer, amounts }, context);
    queue.push({ type: 'quote', quote });
  }
  if (best?.amounts === undefined) {
    queue.push({ type: 'error', error: seat.closed ? bookCloses() : noQuote(best, seat.refusals) });
  }
  queue.finish();
}

/** A quote that cannot be stored, or not in time, is still a quote: it has no id. */
async function keepAndPresent(
  { prepared, cost, timeUp }: Pick<Stream, 'prepared' | 'cost' | 'timeUp'>,
  offer: Covered,
  { keeper, onFault }: QuoteContext,
): Promise<QuoteResponse> {
  const keeping = keeper.keep(prepared.request, offer, cost).catch((fault) => {
    onFault(fault);
    return undefined;
  });
  return present(prepared, offer, cost, await Promise.race([keeping, timeUp]));
}

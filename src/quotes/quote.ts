import { OrderBookError } from '../errors.ts';
import type { ValidatedEstimate } from './estimate-validation.ts';
import type { EstimatorPool } from './estimators.ts';
import type { GasCost } from './fee.ts';
import type { ReadGasPrice } from './gas-price.ts';
import type { NativePrices } from './native-price.ts';
import type { PrepareContext, Prepared } from './prepare.ts';
import { prepare } from './prepare.ts';
import type { PersistedQuote, QuotePersister } from './quote-cache.ts';
import type { QuoteCandidate } from './quote-candidate.ts';
import { createQuoteCandidate, isBetterCandidate } from './quote-candidate.ts';
import { noQuoteError, shuttingDownError } from './rejection.ts';
import type { QuoteResponse } from './response.ts';
import { quoteResponse } from './response.ts';

/** What quoting works with. */
export interface QuoteContext extends PrepareContext {
  readonly sources: EstimatorPool;
  readonly prices: NativePrices;
  readonly gasPrice: ReadGasPrice;
  readonly keeper: QuotePersister;
}

/** What became of a request for a quote. */
export type QuoteResult =
  | { readonly status: 'quoted'; readonly quote: QuoteResponse }
  | { readonly status: 'rejected'; readonly error: OrderBookError };

/** Quotes a trade, or says why it cannot. Rejects with the signal's reason when that is aborted. */
export async function requestQuote(input: unknown, context: QuoteContext, signal?: AbortSignal): Promise<QuoteResult> {
  const prepared = await prepare(input, context);
  signal?.throwIfAborted();
  if (prepared instanceof OrderBookError) return { status: 'rejected', error: prepared };
  const fast = prepared.request.priceQuality === 'fast';
  const seat = context.sources.estimates(prepared.trade, prepared.timeout).subscribe(prepared.timeout);
  try {
    const cost = await getGasCost(prepared, context, fast ? 'first answer' : 'end', signal);
    if (cost instanceof OrderBookError) return { status: 'rejected', error: cost };
    const bestSoFar = () => findBestCandidate(prepared, seat.answers.flat(), cost);
    while (!seat.over && !(fast && bestSoFar()?.amounts !== undefined)) await seat.changed(signal);
    if (seat.closed) return { status: 'rejected', error: shuttingDownError() };
    const best = bestSoFar();
    if (best?.amounts === undefined) return { status: 'rejected', error: noQuoteError(best, seat.rejections) };
    const kept = fast ? undefined : await context.keeper.keep(prepared.request, best, cost);
    return { status: 'quoted', quote: present(prepared, { ...best, amounts: best.amounts }, cost, kept) };
  } finally {
    seat.unsubscribe();
  }
}

/** What gas costs in the sell token, or why nobody knows. */
export async function getGasCost(
  { trade, timeout }: Prepared,
  { prices, gasPrice }: QuoteContext,
  until: 'end' | 'first answer',
  signal?: AbortSignal,
): Promise<GasCost | OrderBookError> {
  const [price, gas] = await Promise.all([
    prices.get(trade.sellToken, timeout, until, signal),
    gasPrice(timeout, signal),
  ]);
  if (price instanceof OrderBookError) return price;
  return gas instanceof OrderBookError ? gas : { sellTokenPrice: price, gasPrice: gas };
}

/** The best of several estimates, their gas paid. */
export function findBestCandidate(
  prepared: Prepared,
  estimates: readonly ValidatedEstimate[],
  cost: GasCost,
): QuoteCandidate | undefined {
  let best: QuoteCandidate | undefined;
  for (const estimate of estimates) {
    const offer = createQuoteCandidate(prepared, estimate, cost);
    if (offer !== undefined && isBetterCandidate(offer, best)) best = offer;
  }
  return best;
}

/** An offer that can be signed. */
export type Covered = QuoteCandidate & { readonly amounts: NonNullable<QuoteCandidate['amounts']> };

/** @param kept `undefined` when the quote is not stored. */
export function present(
  prepared: Prepared,
  { estimate, gas, fee, amounts }: Covered,
  cost: GasCost,
  kept: PersistedQuote | undefined,
): QuoteResponse {
  const { request, validTo, appDataHash, volumeFee } = prepared;
  const { verified } = estimate;
  return quoteResponse({ request, validTo, appDataHash, amounts, fee, gas, cost, verified, volumeFee, kept });
}

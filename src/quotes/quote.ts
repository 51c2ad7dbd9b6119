import type { ConvertCodes } from '../admission/convert-codes.ts';
import { OrderBookError } from '../errors.ts';
import { readMonotonic } from '../ports/clock.ts';
import { formatDecimal } from '../protocol/decimal.ts';
import type { Hex } from '../protocol/hex.ts';
import { formatIsoDate } from '../records/order-json.ts';
import type { QuotedOrder, QuoteResponse, QuoteResult } from '../records/quote-results.ts';
import type { ValidatedEstimate } from './estimate-validation.ts';
import type { EstimatorPool } from './estimators.ts';
import { type Amounts, formatBasisPoints, type GasCost } from './fee.ts';
import type { ReadGasPrice } from './gas-price.ts';
import type { NativePrices } from './native-price.ts';
import { type PrepareContext, type Prepared, prepareQuote } from './prepare.ts';
import { createQuoteCandidate, isBetterCandidate, type QuoteCandidate } from './quote-candidate.ts';
import type { PersistedQuote, QuotePersister } from './quote-lifetime.ts';
import { createNoQuoteError, createShutdownError } from './rejection.ts';
import type { ParsedQuoteRequest } from './request.ts';
import type { EstimateVerification } from './verification.ts';

export interface QuoteContext extends PrepareContext {
  readonly estimatorPool: EstimatorPool;
  readonly prices: NativePrices;
  readonly gasPrice: ReadGasPrice;
  readonly persister: QuotePersister;
  readonly convertCodes: ConvertCodes;
  /** `undefined` if quotes are not simulated. */
  readonly verification: EstimateVerification | undefined;
}

/** Quotes a trade, or returns a rejection. Rejects with the signal's reason when it is aborted. */
export async function requestQuote(input: unknown, context: QuoteContext, signal?: AbortSignal): Promise<QuoteResult> {
  const prepared = await prepareQuote(input, context);
  signal?.throwIfAborted();
  if (prepared instanceof OrderBookError) return { status: 'rejected', error: prepared };
  const fast = prepared.request.priceQuality === 'fast';
  const verification = fast ? undefined : context.verification;
  const deadline = readMonotonic(context.clock) + prepared.timeout;
  const subscription = context.estimatorPool.estimates(prepared.trade, prepared.timeout).subscribe(prepared.timeout);
  try {
    const cost = await getGasCost(prepared, context, fast ? 'first response' : 'end', signal);
    if (cost instanceof OrderBookError) return { status: 'rejected', error: cost };
    const findBest = () => findBestCandidate(prepared, subscription.responses.flat(), cost);
    while (!subscription.over && !(fast && findBest()?.amounts !== undefined)) {
      // Simulations run while other estimators are still working.
      if (verification !== undefined) void startVerification(prepared, findBest(), verification);
      await subscription.changed(signal);
    }
    if (subscription.closed) return { status: 'rejected', error: createShutdownError() };
    const best =
      verification === undefined
        ? findBest()
        : await verification.choose(prepared, subscription.responses.flat(), cost, deadline);
    signal?.throwIfAborted();
    if (best?.amounts === undefined) return { status: 'rejected', error: createNoQuoteError(best, subscription) };
    if (isUnverified(prepared, best.estimate, context))
      return { status: 'rejected', error: new OrderBookError('QuoteNotVerified') };
    const persisted = fast ? undefined : await context.persister.persist(prepared.request, best, cost);
    return { status: 'quoted', quote: renderQuote(prepared, { ...best, amounts: best.amounts }, cost, persisted) };
  } finally {
    subscription.unsubscribe();
  }
}

async function startVerification(
  prepared: Prepared,
  candidate: QuoteCandidate | undefined,
  verification: EstimateVerification,
): Promise<void> {
  if (candidate !== undefined) await verification.verify(prepared, candidate.estimate);
}

/** Returns whether a request requires a simulation that an estimate does not have. */
export function isUnverified(
  { request }: Prepared,
  { verified }: ValidatedEstimate,
  { verification }: QuoteContext,
): boolean {
  return verification !== undefined && request.priceQuality === 'verified' && !verified;
}

/** Returns the gas price and the sell token's price, or the rejection if one of them is unknown. */
export async function getGasCost(
  { trade, timeout }: Prepared,
  { prices, gasPrice }: QuoteContext,
  until: 'end' | 'first response',
  signal?: AbortSignal,
): Promise<GasCost | OrderBookError> {
  const [price, gas] = await Promise.all([
    prices.get(trade.sellToken, timeout, until, signal),
    gasPrice(timeout, signal),
  ]);
  if (price instanceof OrderBookError) return price;
  return gas instanceof OrderBookError ? gas : { sellTokenPrice: price, gasPrice: gas };
}

/** Returns the best of several estimates, after gas costs. */
export function findBestCandidate(
  prepared: Prepared,
  estimates: readonly ValidatedEstimate[],
  cost: GasCost,
): QuoteCandidate | undefined {
  let best: QuoteCandidate | undefined;
  for (const estimate of estimates) {
    const candidate = createQuoteCandidate(prepared, estimate, cost);
    if (candidate !== undefined && isBetterCandidate(candidate, best)) best = candidate;
  }
  return best;
}

/** A candidate whose amounts cover the fee. */
export type CoveredCandidate = QuoteCandidate & { readonly amounts: NonNullable<QuoteCandidate['amounts']> };

/** Renders the response. @param persisted - `undefined` if the quote is not stored. */
export function renderQuote(
  prepared: Prepared,
  { estimate, gas, fee, amounts }: CoveredCandidate,
  cost: GasCost,
  persisted: PersistedQuote | undefined,
): QuoteResponse {
  const { request, validTo, appDataHash, volumeFee } = prepared;
  const { verified } = estimate;
  return createQuoteResponse({
    request,
    validTo,
    appDataHash,
    amounts,
    fee,
    gas,
    cost,
    verified,
    volumeFee,
    persisted,
  });
}

interface ResponseParts {
  readonly request: ParsedQuoteRequest;
  readonly validTo: number;
  readonly appDataHash: Hex;
  readonly amounts: Amounts;
  readonly fee: bigint;
  readonly gas: bigint;
  readonly cost: GasCost;
  readonly verified: boolean;
  /** Parts per million. */
  readonly volumeFee: number | undefined;
  /** `undefined` if the quote is not stored. */
  readonly persisted: PersistedQuote | undefined;
}

export function createQuoteResponse(parts: ResponseParts): QuoteResponse {
  const { request, amounts, cost, persisted, volumeFee } = parts;
  const { sellToken, buyToken, receiver, sellTokenBalance, buyTokenBalance } = request;
  return {
    quote: {
      sellToken,
      buyToken,
      receiver,
      sellAmount: amounts.sellAmount.toString(),
      buyAmount: amounts.buyAmount.toString(),
      validTo: parts.validTo,
      ...getAppData(parts),
      feeAmount: parts.fee.toString(),
      gasAmount: parts.gas.toString(),
      gasPrice: formatDecimal(cost.gasPrice),
      sellTokenPrice: formatDecimal(cost.sellTokenPrice),
      kind: request.side.kind,
      partiallyFillable: false,
      sellTokenBalance,
      buyTokenBalance,
      signingScheme: request.signing.scheme,
    },
    from: request.from,
    expiration: formatIsoDate(persisted?.expiresAt ?? 0),
    id: persisted?.id ?? null,
    verified: parts.verified,
    ...(volumeFee === undefined ? {} : { protocolFeeBps: formatBasisPoints(volumeFee) }),
  };
}

/** Returns a document with its hash; a hash, or no value, as the hash only. */
function getAppData({ request, appDataHash }: ResponseParts): Pick<QuotedOrder, 'appData' | 'appDataHash'> {
  const { appData } = request;
  const isDocument =
    appData !== undefined && (request.appDataHash !== undefined || appData.toLowerCase() !== appDataHash);
  return isDocument ? { appData, appDataHash } : { appData: appDataHash };
}

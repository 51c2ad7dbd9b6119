import type { TokenPolicy } from '../admission/limits.ts';
import { OrderBookError } from '../errors.ts';
import type { Estimator } from '../ports/estimator.ts';
import { formatDecimal } from '../protocol/decimal.ts';
import { formatValue } from '../protocol/format-value.ts';
import { type Address, parseHex } from '../protocol/hex.ts';
import { createOrderHasher } from '../protocol/order.ts';
import { createEstimatorPool } from './estimators.ts';
import { createGasPrice } from './gas-price.ts';
import { createNativePrices } from './native-price.ts';
import { requestQuote } from './quote.ts';
import type { OtherQuotes, QuoteApi, QuotesContext } from './quote-api.ts';
import { createQuotePersister } from './quote-lifetime.ts';
import type { ParsedQuoteOptions } from './quote-options.ts';
import { streamQuotes } from './quote-stream.ts';
import { createRaceCache } from './race-cache.ts';
import { createVaultUnwrapping } from './vaults.ts';
import { createEstimateVerification } from './verification.ts';

export function createQuoteService(options: ParsedQuoteOptions, book: QuotesContext) {
  const { store, clock, limits, tokens, host, remote, onFailure, observe, convertCodes } = book;
  const { priceAmount, timeouts, quoteCacheTtl, volumeFee } = options;
  // The native prices of the book behind this one have the cache of prices.
  const estimators =
    options.estimators.length > 0 || book.otherQuotes === undefined
      ? options.estimators
      : [createPriceEstimator(book.otherQuotes)];
  const { wrappedNative } = tokens;
  const { usual } = timeouts;
  const raceCache = createRaceCache(clock, quoteCacheTtl);
  const { verifyingContract: settlementContract, chainId } = book.domain;
  const estimatorPool = createEstimatorPool({
    estimators,
    clock,
    raceCache,
    wrappedNative,
    settlementContract,
    simulates: options.verifier !== undefined,
    priceAmount,
    observe,
    onFailure,
  });
  const prices = createNativePrices({
    estimatorPool,
    clock,
    wrappedNative,
    timeout: usual,
    ttl: options.priceCacheTtl,
    unwrap: options.vaults && createVaultUnwrapping(options.vaults, clock, usual, onFailure),
  });
  const context = {
    documents: store.appData,
    findDocument: book.documents.find,
    clock,
    limits,
    tokens,
    host,
    remote,
    rules: book.rules,
    eip1271: book.eip1271,
    convertCodes,
    estimatorPool,
    prices,
    onFailure,
    gasPrice: createGasPrice(options.gasPrice, { clock, timeout: usual, lifetime: quoteCacheTtl, onFailure }),
    persister: createQuotePersister(store.quotes, clock, options.lifetimes),
    volumeFee,
    unverifiedGas: options.unverifiedGas,
    timeouts,
    hooksTrampoline: book.hooksTrampoline,
    verification:
      options.verifier &&
      createEstimateVerification({
        verifier: options.verifier,
        clock,
        hasher: createOrderHasher({ chainId, settlementContract }),
        settlementContract,
        vaultRelayer: book.vaultRelayer,
        onFailure,
      }),
  };

  return {
    methods: {
      request: async (request, call) => convertCodes(await requestQuote(request, context, call?.signal)),
      stream: async (request, call) => convertCodes(await streamQuotes(request, context, call?.signal)),
      async nativePrice(text, call) {
        const token = parseToken(text, tokens);
        const price = token instanceof OrderBookError ? token : await prices.get(token, usual, 'end', call?.signal);
        return price instanceof OrderBookError
          ? convertCodes({ status: 'rejected', error: price })
          : { status: 'priced', price: formatDecimal(price) };
      },
      counters: estimatorPool.counters,
    } satisfies QuoteApi,
    /** Stops all work; waiting callers get a retryable rejection. */
    close: raceCache.close,
  };
}

function parseToken(text: string, { deniedTokens }: TokenPolicy): Address | OrderBookError {
  const token = parseHex(text, 20);
  if (token === undefined) {
    const description = `token: must be 0x and 40 hex digits, got ${formatValue(text)}`;
    return new OrderBookError('InvalidParameter', description, { parameter: 'token' });
  }
  if (!deniedTokens.has(token)) return token;
  return new OrderBookError('UnsupportedToken', `token ${token} is deny-listed`, { token });
}

function createPriceEstimator({ nativePrice }: OtherQuotes): Estimator {
  return {
    name: 'upstream',
    estimate: async () => undefined,
    nativePrice: (token, { signal }) => nativePrice(token, signal),
  };
}

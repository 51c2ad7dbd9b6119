import { createAppData, createDocumentPolicy } from './app-data/index.ts';
import { createAuctionFinder, createAuctions } from './auctions/index.ts';
import { createBalances } from './balances/index.ts';
import { createChain, createTrades } from './chain/index.ts';
import { createDeadlineLimiter } from './concurrency/abort.ts';
import { createLifecycle, lazy } from './concurrency/lifecycle.ts';
import { createEmitter, createEventDispatcher, createEventLog } from './event-log/index.ts';
import { type OrderBookOptions, parseOptions } from './options.ts';
import { BOOK_EVENTS, type OrderBook, type OrderBookEvents } from './order-book.ts';
import { createOrderCache, createOrders } from './orders/index.ts';
import { systemRandom } from './ports/random.ts';
import { createQuotes } from './quotes/index.ts';
import { createReadinessCheck } from './readiness.ts';
import { createUpstream, EXPIRY_GRACE } from './upstream/index.ts';
import { createVerifier, observedVerifier, type Verifier } from './verification/index.ts';

/**
 * Creates an order book. Nothing runs before `start`.
 * @throws TypeError naming the option that is unknown or malformed.
 */
export function createOrderBook(options: OrderBookOptions): OrderBook {
  const configuration = parseOptions(options);
  const { chainId, settlementContract, limits, store, clock, logger, cacheBytes, checkTimeout } = configuration;
  const emitter = createEmitter<OrderBookEvents>('book.on', BOOK_EVENTS);
  const onFailure = emitter.emitFailure;
  const logging = lazy(async () => logger && (await import('./logger.ts')).attachLogger(emitter, logger, chainId));
  const dispatcher = createEventDispatcher(store, clock, emitter);
  // `assertStarted` returns the verifier. The parts below are used after the start.
  const { assertStarted, ...lifecycle } = createLifecycle('book', {
    open,
    close,
    workers: () => [chain, orders, upstream],
  });

  const book = {
    ...configuration,
    assertStarted,
    onFailure,
    wake: dispatcher.wake,
    holder: systemRandom.uuid(),
    documents: createDocumentPolicy({ ...configuration, onFailure }),
    remote: createDeadlineLimiter(clock, checkTimeout),
    cache: cacheBytes > 0 ? createOrderCache(store.events, cacheBytes) : undefined,
    log: createEventLog(store, dispatcher.watch, assertStarted),
  };
  const upstream = createUpstream({
    ...book,
    chainState: () => chain.state,
    onCall: emitter.observer('upstreamCalled'),
    onDifference: emitter.observer('upstreamDiffered'),
  });
  const quotes = createQuotes(configuration.quotes, {
    ...book,
    otherQuotes: upstream?.quotes,
    observe: emitter.observer('estimatorQueried').notify,
  });
  const chain = createChain({
    ...book,
    emit: emitter.emit,
    findAuction: createAuctionFinder(book),
    requestQuote: quotes.request,
    onSettled: upstream?.settled,
  });
  const auctions = createAuctions({
    ...book,
    driverObserver: emitter.observer('driverCalled'),
    findHead: chain.findHead,
    nativePrice: (token, signal) => quotes.methods.nativePrice(token, { signal }),
  });
  const trades = createTrades(store, assertStarted);
  const readiness = createReadinessCheck({ ...book, chain, upstream: upstream?.status });
  const orders = createOrders({
    ...book,
    ...quotes.ofOrders,
    relay: upstream?.relay,
    ...(upstream && { expiryGrace: EXPIRY_GRACE }),
    // Without a policy of the host, recorded competitions decide which orders are being bid on.
    host: { isActivelyBidOn: auctions.isBidOn, ...configuration.host },
    competitionStatus: auctions.status,
    observeInsert: readiness.observe,
    onSubmitted: emitter.observer('ordersSubmitted'),
    pruneObserver: emitter.observer('dataPruned'),
    onPruned: trades.clear,
    getBlockTime: chain.getBlockTime,
    isCatchingUp: () => chain.state === 'starting' || chain.state === 'catching up',
  });

  async function open(): Promise<Verifier> {
    const verifier = await createVerifier({ chainId, settlementContract, ...configuration.recovery });
    await Promise.all([logging.load(), chain.prepare(), quotes.prepare(), orders.prepare()]);
    await store.open({ domain: { chainId, settlementContract }, clock, observer: emitter.observer('storeQueried') });
    await upstream?.prepare();
    await dispatcher.start().catch((failure) => store.close().then(() => Promise.reject(failure)));
    quotes.start();
    return observedVerifier(verifier, clock, emitter.observer('signersRecovered'));
  }

  async function close(end: () => void): Promise<void> {
    await chain.stop();
    end();
    await orders.stop();
    await upstream?.stop();
    await auctions.close();
    await orders.drained();
    await quotes.stop();
    await dispatcher.stop();
    await store.close();
    book.cache?.clear();
    trades.clear();
  }

  return {
    chainId,
    settlementContract,
    limits,
    rules: configuration.rules,
    clock,
    log: book.log,
    orders: orders.methods,
    quotes: quotes.methods,
    upstream: upstream?.methods,
    appData: createAppData(configuration.store.appData, limits, configuration.convertCodes, assertStarted),
    chain: chain.methods,
    trades: trades.methods,
    balances: createBalances({ ...book, deadline: checkTimeout }),
    auctions: auctions.methods,
    ...lifecycle,
    ready: readiness.check,
    reportError: onFailure,
    on: emitter.on,
    off: emitter.off,
  };
}

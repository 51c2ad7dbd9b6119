import { createAppDataApi } from './app-data/app-data-api.ts';
import { createDocumentPolicy } from './app-data/document-policy.ts';
import { createAuctionModule } from './auctions/auctions.ts';
import { createBalances } from './balances/balances.ts';
import { createChainIndexing } from './chain/chain-indexing.ts';
import { createTradeModule } from './chain/trade-module.ts';
import { createDeadlineLimiter } from './concurrency/deadline.ts';
import { lazy } from './concurrency/lazy.ts';
import { createLifecycle } from './concurrency/lifecycle.ts';
import { createBookEmitter } from './emitter.ts';
import { observedStore, observedVerifier } from './instrumentation.ts';
import type { OrderBookOptions } from './options.ts';
import { parseOptions } from './options.ts';
import type { OrderBook } from './order-book.ts';
import type { AdmissionContext } from './orders/admission.ts';
import { createOrderCache } from './orders/cache.ts';
import { createOrderApi } from './orders/order-api.ts';
import { createPendingOrders } from './orders/pending-orders.ts';
import { createSubmissionQueue } from './orders/submission-queue.ts';
import { getMaxDuration, prepareSubmissions } from './orders/submit.ts';
import { systemRandom } from './ports/random.ts';
import { createQuoteModule } from './quotes/index.ts';
import { getOrderQuoting } from './quotes/quote-options.ts';
import { createReadinessCheck } from './readiness.ts';
import { createEventDispatcher } from './streams/event-dispatcher.ts';
import { createEventLog } from './streams/event-log.ts';
import { createVerifier } from './verification/verifier.ts';

/**
 * Creates an order book. Nothing runs before `start`.
 * @throws TypeError naming the option that is unknown or malformed.
 */
export function createOrderBook(options: OrderBookOptions): OrderBook {
  const configuration = parseOptions(options);
  const { chainId, settlementContract, limits, clock, logger } = configuration;
  const emitter = createBookEmitter();
  const onFailure = emitter.emitFailure;
  const logging = lazy(async () => logger && (await import('./logger.ts')).attachLogger(emitter, logger, chainId));
  const store = observedStore(configuration.store, clock, emitter.observer('storeQueried'));
  const dispatcher = createEventDispatcher(store, clock, emitter);
  const cache = configuration.cacheBytes > 0 ? createOrderCache(store.events, configuration.cacheBytes) : undefined;
  const reading = { store, clock, onFailure, ...(cache && { cache }) };
  const submissions = createSubmissionQueue(store, clock, dispatcher.wake);
  const { assertStarted, ...lifecycle } = createLifecycle('book', {
    open,
    close,
    workers: () => [chain, expiry.loaded],
  });
  const auctions = createAuctionModule(configuration, {
    onFailure,
    holder: systemRandom.uuid(),
    assertStarted,
    driverObserver: emitter.observer('driverCalled'),
    findHead: () => chain.findHead(),
    nativePrice: (token, signal) => quotes.methods.nativePrice(token, { signal }),
  });
  const admission: Omit<AdmissionContext, 'verifier'> = {
    ...configuration,
    documents: createDocumentPolicy(configuration, onFailure),
    // Without a policy of the host, recorded competitions decide which orders are being bid on.
    host: { isActivelyBidOn: auctions.isBidOn, ...configuration.host },
    store,
    onFailure,
    pace: submissions.pace,
    track: submissions.track,
    pending: createPendingOrders(configuration),
    insert: (...insert) => readiness.observe(submissions.insert(...insert)),
    ...getOrderQuoting(configuration.quotes, (...request) => quotes.request(...request)),
    remote: createDeadlineLimiter(clock, configuration.checkTimeout),
  };
  const quotes = createQuoteModule(configuration.quotes, {
    ...admission,
    assertStarted,
    observe: (observation) => emitter.emit('estimatorQueried', observation),
  });
  const chain = createChainIndexing({
    configuration,
    onFailure,
    assertStarted,
    wake: dispatcher.wake,
    findAuction: auctions.settled,
    findDocument: admission.documents.find,
    cache,
    emit: emitter.emit,
    requestQuote: quotes.request,
  });
  const readiness = createReadinessCheck({ store, clock, assertStarted, chain });
  const expiry = lazy(async () =>
    (await import('./orders/expiry.ts')).createExpirySweep({
      ...configuration,
      store,
      onFailure,
      interval: configuration.expiryInterval,
      wake: dispatcher.wake,
      getBlockTime: chain.getBlockTime,
      bypassCache, // the log has no entries for deleted data
      pruneObserver: emitter.observer('dataPruned'),
      holder: systemRandom.uuid(),
      isCatchingUp: () => chain.state === 'starting' || chain.state === 'catching up',
    }),
  );
  const trades = createTradeModule(store);
  const log = createEventLog(store, dispatcher.watch, assertStarted);
  const streamOptions = { ...configuration.streams, onFailure, log, reading };
  const streams = lazy(async () => (await import('./streams/order-streams.ts')).createOrderStreams(streamOptions));

  function bypassCache(): (isChanged: boolean) => void {
    const resume = cache?.pause();
    return (isChanged) => {
      resume?.(isChanged);
      if (isChanged) trades.clear();
    };
  }

  async function open(): Promise<AdmissionContext> {
    const verifier = await createVerifier({ chainId, settlementContract, ...configuration.recovery });
    await Promise.all([
      logging.load(),
      expiry.load(),
      chain.prepare(),
      quotes.prepare(),
      prepareSubmissions(admission),
    ]);
    await store.open({ domain: { chainId, settlementContract }, clock });
    await dispatcher.start().catch((failure) => store.close().then(() => Promise.reject(failure)));
    quotes.start();
    return { ...admission, verifier: observedVerifier(verifier, clock, emitter.observer('signersRecovered')) };
  }

  async function close(end: () => void): Promise<void> {
    await chain.stop();
    end();
    await expiry.loaded?.stop();
    streams.loaded?.close();
    await auctions.close();
    await submissions.drained(getMaxDuration(admission));
    await quotes.stop();
    await dispatcher.stop();
    await store.close();
    cache?.clear();
    trades.clear();
  }

  return {
    chainId,
    settlementContract,
    limits,
    rules: configuration.rules,
    clock,
    log,
    orders: createOrderApi({
      reading,
      streams,
      admission: assertStarted,
      competitionStatus: auctions.status,
      wake: dispatcher.wake,
      onSubmitted: emitter.observer('ordersSubmitted'),
    }),
    quotes: quotes.methods,
    appData: createAppDataApi(store.appData, limits, assertStarted),
    chain: chain.methods,
    trades: trades.methods,
    balances: createBalances({ ...configuration, deadline: configuration.checkTimeout, onFailure }),
    auctions: auctions.methods,
    ...lifecycle,
    ready: readiness.check,
    reportError: onFailure,
    on: emitter.on,
    off: emitter.off,
  };
}

import { EventEmitter } from 'eventemitter3';
import { putDocument, requireHash } from './app-data/put.ts';
import { createAuctionModule } from './auctions/auctions.ts';
import { createBalances } from './balances/balances.ts';
import { createChainIndexing } from './chain/chain-indexing.ts';
import { totalSurplus } from './chain/surplus.ts';
import { parseTradeQuery, requireAccount, requireToken, requireTransactionHash, toOrderTrade } from './chain/trades.ts';
import { createRequestCoalescer } from './concurrency/coalesce.ts';
import { createDeadlineLimiter } from './concurrency/deadline.ts';
import { mapAsync } from './concurrency/map-async.ts';
import { createThrottle } from './concurrency/throttle.ts';
import type { OrderBookEvents } from './events.ts';
import type { Observer } from './instrumentation.ts';
import { observedStore, observedVerifier, toSubmissionObservation } from './instrumentation.ts';
import type { OrderBookOptions } from './options.ts';
import { parseOptions } from './options.ts';
import type { AppDataApi, OrderApi, OrderBook, TradeApi } from './order-book.ts';
import type { AdmissionContext } from './orders/admission.ts';
import type { SigningDomain } from './orders/authenticate.ts';
import { createOrderCache } from './orders/cache.ts';
import { cancel } from './orders/cancel.ts';
import { createExpirySweep } from './orders/expiry.ts';
import { createGroupCommit } from './orders/group-commit.ts';
import { toOrderPage, toOrderResults, parseListQuery, requireUid } from './orders/listing.ts';
import type { Order } from './orders/order-json.ts';
import { listOrders, readManyBytes, readOrder, readOrders, readTransaction } from './orders/read.ts';
import { submit } from './orders/submit.ts';
import { StoreError } from './ports/store.ts';
import { DOMAIN_NAME, DOMAIN_VERSION } from './protocol/eip712.ts';
import { createVerifier } from './protocol/verifier.ts';
import type { QuoteApi } from './quotes/index.ts';
import { createQuoteModule } from './quotes/index.ts';
import { createStreamBroadcaster } from './streams/broadcaster.ts';
import { createEventDispatcher } from './streams/event-dispatcher.ts';
import type { EventLog } from './streams/order-log.ts';
import { orderLog } from './streams/order-log.ts';
import { orderStreamEvent, orderStreamKey } from './streams/order-stream.ts';

/** At some 100 µs for a signature, what fits between two turns of the event loop without being felt. */
const SUBMISSIONS_A_TURN = 8;

/** At a millisecond or more for 128 orders. */
const LISTS_A_TURN = 1;

/**
 * Creates a book. Nothing runs until `start`.
 *
 * @throws TypeError naming the option that is unknown or malformed.
 */
export function createOrderBook(options: OrderBookOptions): OrderBook {
  const configuration = parseOptions(options);
  const { chainId, settlementContract, limits, clock } = configuration;
  const emitter = new EventEmitter<OrderBookEvents>();
  const observer = <E extends keyof OrderBookEvents>(event: E): Observer<Parameters<OrderBookEvents[E]>[0]> => ({
    hasListeners: () => emitter.listenerCount(event) > 0,
    notify: (observation) => tell(event, observation),
  });
  const store = observedStore(configuration.store, clock, observer('storeQueried'));
  const feed = createEventDispatcher(store, clock, emitter);
  const domain: SigningDomain = {
    name: DOMAIN_NAME,
    version: DOMAIN_VERSION,
    chainId,
    verifyingContract: settlementContract,
  };
  const onFailure = failureEmitter(emitter);
  const tell = observationTeller(emitter, onFailure);
  const cache = configuration.cacheBytes > 0 ? createOrderCache(store.events, configuration.cacheBytes) : undefined;
  const reading = { store, clock, onFailure, ...(cache === undefined ? {} : { cache }) };
  // A store of this process alone answers before anybody else can ask.
  const share = store.traits.writers === 'many' ? sharing() : alone;
  const documents = { maxAppDataSize: limits.maxAppDataSize, appDataHashForm: configuration.appDataHashForm };
  const pacer = createThrottle(SUBMISSIONS_A_TURN);
  const lists = createThrottle(LISTS_A_TURN);
  const commits = createGroupCommit({ store, clock, more: () => pacer.waiting > 0 });
  const auctions = createAuctionModule(configuration, {
    onFailure,
    started: () => void started(),
    nativePrice: (token, signal) => quoting.verbs.nativePrice(token, { signal }),
  });
  const admission: Omit<AdmissionContext, 'verifier'> = {
    ...configuration,
    // Who does not say whose orders are being bid on has told of competitions, or has none.
    host: { isActivelyBidOn: auctions.isBidOn, ...configuration.host },
    store,
    pace: pacer.acquire,
    insert: commits.insert,
    domain,
    documents,
    onFailure,
    quoting: configuration.quotes !== undefined,
    remote: createDeadlineLimiter(clock, configuration.checkTimeout),
  };
  const quoting = createQuoteModule(configuration.quotes, {
    ...admission,
    observe: (observation) => void emitter.emit('estimatorQueried', observation),
  });
  /** By what orders are admitted, from start to close. Made once: spreading as much for each takes longer than most checks. */
  let running: AdmissionContext | undefined;
  let starting: Promise<void> | undefined;

  function started(): AdmissionContext {
    if (running === undefined) throw new StoreError('Closed', 'the book is not started');
    return running;
  }

  const chain = createChainIndexing({
    pricesOf: auctions.pricesOf,
    configuration,
    onFailure,
    wake: feed.wake,
    started: () => void started(),
    onApplied: (observation) => tell('chainApplied', observation),
    onRolledBack: (observation) => tell('chainRolledBack', observation),
    onFollowed: (observation) => tell('chainProgress', observation),
    requestQuote: (request) => quoting.verbs.request(request),
  });

  const { expiryInterval, retention } = configuration;
  const expiry =
    expiryInterval === undefined
      ? undefined
      : createExpirySweep({
          store,
          clock,
          onFailure,
          wake: feed.wake,
          interval: expiryInterval,
          retention,
          // The log does not tell of what is removed.
          onPruned: () => cache?.clear(),
          holder: crypto.randomUUID(),
          isCatchingUp: () => chain.state === 'starting' || chain.state === 'catching up',
        });
  const { vaultRelayer, checkTimeout: deadline } = configuration;
  const balances = createBalances({ chain: configuration.chain, vaultRelayer, clock, deadline, onFailure });

  const rendered: OrderApi['rendered'] = {
    async get(uid) {
      const parsed = requireUid(uid);
      return share(
        () => `get ${parsed}`,
        () => readOrder(parsed, reading),
      );
    },
    async getMany(uids) {
      const parsed = uids.map(requireUid);
      return share(
        () => `getMany ${parsed.join()}`,
        () => readOrders(parsed, reading),
      );
    },
    async getManyBytes(uids) {
      const parsed = uids.map(requireUid);
      await lists.acquire();
      return share(
        () => `getManyBytes ${parsed.join()}`,
        () => readManyBytes(parsed, reading),
      );
    },
    async list(query = {}) {
      const parsed = parseListQuery(query);
      return share(
        () => `list ${JSON.stringify(parsed)}`,
        () => listOrders(parsed, reading),
      );
    },
    async listByTransaction(hash) {
      return readTransaction(requireTransactionHash(hash), reading);
    },
    async stream(filter, streamOptions) {
      started();
      return hub.subscribe(orderStreamKey(filter), streamOptions);
    },
  };

  const log: EventLog = {
    async last() {
      started();
      return store.events.last();
    },
    async after(id, limit) {
      started();
      return store.events.after(id, limit);
    },
    watch: feed.watch,
  };
  const hub = createStreamBroadcaster({
    ...configuration.streams,
    onFailure,
    log: orderLog(log, (uids) => readOrders(uids, reading)),
  });

  const orders: OrderApi = {
    async stream(filter, streamOptions) {
      return mapAsync(await rendered.stream(filter, streamOptions), orderStreamEvent);
    },
    async submit(order, submitOptions) {
      const [result] = await orders.submitMany([order], submitOptions);
      if (result === undefined) throw new Error('a submitted order has no result');
      return result;
    },
    async submitMany(many, submitOptions) {
      const since = clock.now();
      const results = await submit(many, started(), submitOptions);
      const { hasListeners: listens, notify: told } = observer('ordersSubmitted');
      if (listens()) told(toSubmissionObservation(results, clock.now() - since));
      if (results.some(({ status }) => status === 'accepted')) feed.wake();
      return results;
    },
    async get(uid) {
      const order = await rendered.get(uid);
      return order && (JSON.parse(order.json) as Order); // rendered from one
    },
    async getMany(uids) {
      return toOrderResults(await rendered.getMany(uids));
    },
    async list(query) {
      return toOrderPage(await rendered.list(query));
    },
    async cancel(request) {
      const result = await cancel(request, { store, clock, domain, verifier: started().verifier });
      if (result.status === 'cancelled') feed.wake();
      return result;
    },
    async listByTransaction(hash) {
      return (await rendered.listByTransaction(hash)).map(({ json }) => JSON.parse(json) as Order); // rendered from one
    },
    async competitionStatus(uid) {
      return auctions.status(requireUid(uid));
    },
    rendered,
  };

  const trades: TradeApi = {
    async list(query) {
      return (await store.chain.trades(parseTradeQuery(query))).map(toOrderTrade);
    },
    async totalSurplus(account) {
      return totalSurplus(requireAccount(account), store);
    },
    async firstTradeBlock(token) {
      return store.chain.firstTrade(requireToken(token));
    },
  };

  const appData: AppDataApi = {
    async put(fullAppData, putOptions = {}) {
      started();
      return putDocument(fullAppData, putOptions, { documents: store.appData, limits });
    },
    async get(hash) {
      return store.appData.get(requireHash(hash));
    },
  };

  const quotes: QuoteApi = {
    async request(request, call) {
      started();
      return quoting.verbs.request(request, call);
    },
    async stream(request, call) {
      started();
      return quoting.verbs.stream(request, call);
    },
    async nativePrice(token, call) {
      started();
      return quoting.verbs.nativePrice(token, call);
    },
    counters: quoting.verbs.counters,
  };

  async function open(): Promise<void> {
    if (running !== undefined) return;
    const ready = await createVerifier({ chainId, settlementContract, ...configuration.recovery });
    await Promise.all([chain.prepare(), quoting.prepare()]);
    await store.open({ domain: { chainId, settlementContract }, clock });
    try {
      await feed.start();
    } catch (failure) {
      await store.close();
      throw failure;
    }
    quoting.start();
    running = { ...admission, verifier: observedVerifier(ready, clock, observer('signersRecovered')) };
    chain.start();
    expiry?.start();
  }

  async function close(): Promise<void> {
    await starting?.catch(() => {}); // told to whoever starts
    if (running === undefined) return;
    await chain.stop();
    running = undefined;
    await expiry?.stop();
    hub.close();
    await commits.drained();
    await quoting.stop();
    await feed.stop();
    await store.close();
    cache?.clear();
  }

  return {
    chainId,
    settlementContract,
    limits,
    orders,
    quotes,
    appData,
    chain: chain.verbs,
    trades,
    log,
    clock,
    balances,
    auctions: auctions.verbs,
    start() {
      starting ??= open().finally(() => {
        starting = undefined;
      });
      return starting;
    },
    close,
    [Symbol.asyncDispose]: close,
    async ready() {
      try {
        started();
        await store.check();
        return { ready: chain.state !== 'stopped', checks: { store: 'ok', ...chain.checks() } };
      } catch (failure) {
        const code = failure instanceof StoreError ? failure.code : 'unavailable';
        return { ready: false, checks: { store: code, ...chain.checks() } };
      }
    },
    reportError: onFailure,
    on(event, listener) {
      emitter.on(event, listener as AnyListener);
    },
    off(event, listener) {
      emitter.off(event, listener as AnyListener);
    },
  };
}

/** Shares reads of the same name. */
function sharing(): <T>(name: () => string, read: () => Promise<T>) => Promise<T> {
  const share = createRequestCoalescer();
  return (name, read) => share(name(), read);
}

/** Reads by oneself, in the place of sharing. */
function alone<T>(_name: () => string, read: () => Promise<T>): Promise<T> {
  return read();
}

/** The emitter's own type of a listener is lost on a generic event name. */
type AnyListener = (argument: unknown) => void;

/** Tells of failures, which may come from anywhere: a listener that throws must not become one of them. */
function failureEmitter(emitter: EventEmitter<OrderBookEvents>): (failure: unknown) => void {
  return (failure) => {
    for (const listener of emitter.listeners('failure')) {
      try {
        listener(failure);
      } catch {
        // It had its chance.
      }
    }
  };
}

/** Tells of what was observed. What a listener throws is told as a failure. */
function observationTeller(emitter: EventEmitter<OrderBookEvents>, onFailure: (failure: unknown) => void) {
  return <E extends keyof OrderBookEvents>(event: E, observation: Parameters<OrderBookEvents[E]>[0]): void => {
    for (const listener of emitter.listeners(event)) {
      try {
        (listener as AnyListener)(observation);
      } catch (failure) {
        onFailure(failure);
      }
    }
  };
}

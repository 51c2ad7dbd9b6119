import type { ConvertCodes } from '../admission/convert-codes.ts';
import type { OrderCreation } from '../admission/creation.ts';
import { assertNotAborted, type ReadOptions } from '../concurrency/abort.ts';
import { createRequestCoalescer } from '../concurrency/coalesce.ts';
import { type Lazy, lazy } from '../concurrency/lifecycle.ts';
import { createThrottle } from '../concurrency/limit.ts';
import { mapAsync } from '../concurrency/map-async.ts';
import type { StreamLimits } from '../limits/index.ts';
import type { Observer } from '../listeners.ts';
import { type Clock, readMonotonic } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import type { Hex } from '../protocol/hex.ts';
import { getInteractions } from '../protocol/trampoline.ts';
import type { CompetitionStatus } from '../records/competition-status.ts';
import type { EventLog } from '../records/event-log.ts';
import type { RenderedOrder, RenderedResult } from '../records/order-json.ts';
import type { OrderStreamFilter } from '../records/order-stream-filter.ts';
import {
  formatCursor,
  type ListQuery,
  type OrderPage,
  type OrderResult,
  type RenderedPage,
} from '../records/results.ts';
import type { Order } from '../records/wire-order.ts';
import type { OrderStreamEvent, OrderStreams, Stream, StreamOptions } from '../streams/index.ts';
import { assertKnownOptions, assertOptionsObject, requireList, requireUid } from '../validation/options.ts';
import type { Verifier } from '../verification/index.ts';
import type { AdmissionContext } from './admission.ts';
import type { CancelResult, OrderCancellation, OrderCancellations } from './cancel.ts';
import type { ExpirySweepContext } from './expiry.ts';
import { createSubmissionQueue } from './group-commit.ts';
import type { EncodedPage, EncodedReadOptions, ListFilter } from './list-orders.ts';
import { type OrderCache, type ReadContext, readManyBytes, readOrder, readOrders } from './read.ts';
import type { SimulateOptions, SimulateResult } from './simulation.ts';
import {
  getMaxDuration,
  parseInput,
  prepareSubmissions,
  type SubmissionObservation,
  type SubmitOptions,
  type SubmitResult,
  submit,
  toSubmissionObservation,
} from './submit.ts';

/** The parsed options of a book that its orders need, and what the book provides to them. */
export interface OrdersContext
  extends Omit<AdmissionContext, 'verifier' | 'submissions' | 'pending'>,
    Pick<
      ExpirySweepContext,
      'expiryGrace' | 'retention' | 'getBlockTime' | 'isCatchingUp' | 'pruneObserver' | 'holder' | 'wake'
    >,
    Pick<OrderApiContext, 'competitionStatus' | 'onSubmitted'> {
  /** The cache of rendered orders, if the book has one. */
  readonly cache: OrderCache | undefined;
  /** Milliseconds between two sweeps for expired orders. `undefined`: this process does not sweep. */
  readonly expiryInterval: number | undefined;
  /** Limits of order streams. */
  readonly streams: Required<StreamLimits>;
  readonly log: EventLog;
  /** Returns the verifier of a started book. Throws a `StoreError` otherwise. */
  readonly assertStarted: () => Verifier;
  /** Observes an insert and returns it. */
  readonly observeInsert: <T>(insert: Promise<T>) => Promise<T>;
  /** Called after rows were deleted that the log does not show. */
  readonly onPruned: () => void;
}

export function createOrders(context: OrdersContext) {
  const { store, clock, onFailure, cache, log, assertStarted, wake } = context;
  const reading = { store, clock, onFailure, ...(cache && { cache }) };
  const submissions = createSubmissionQueue(store, clock, { onLateEnd: wake, observeInsert: context.observeInsert });
  const withoutVerifier: Omit<AdmissionContext, 'verifier'> = {
    ...context,
    submissions,
    pending: lazy(async () => (await import('./pending-orders.ts')).createPendingOrders(context)),
  };
  let started: AdmissionContext | undefined;

  /** Returns the context of submissions. It changes only when the book is started again. */
  function admission(): AdmissionContext {
    const verifier = assertStarted();
    if (started?.verifier !== verifier) started = { ...withoutVerifier, verifier };
    return started;
  }

  const streams = lazy(async () => {
    const { createOrderStreams } = await import('../streams/index.ts');
    const { filterPlaced } = store.orders;
    const reads = { read: (uids: readonly Hex[]) => readOrders(uids, reading), filterPlaced };
    return createOrderStreams(log, reads, { ...context.streams, onFailure });
  });

  const expiry = lazy(async () =>
    (await import('./expiry.ts')).createExpirySweep({
      ...context,
      interval: context.expiryInterval,
      bypassCache() {
        const resume = cache?.pause(); // the log has no entries for deleted data
        return (isChanged) => {
          resume?.(isChanged);
          if (isChanged) context.onPruned();
        };
      },
    }),
  );

  return {
    methods: createOrderApi({ ...context, reading, streams, admission }),
    /** Loads what most submissions and the sweep need. */
    async prepare(): Promise<void> {
      await Promise.all([expiry.load(), prepareSubmissions(context)]);
    },
    start: (): void => expiry.loaded?.start(),
    /** Ends the sweep and all streams. Submissions go on. */
    async stop(): Promise<void> {
      await expiry.loaded?.stop();
      streams.loaded?.close();
    },
    /** Waits until all submissions have ended. */
    drained: (): Promise<void> => submissions.drained(getMaxDuration(context)),
  };
}

const SUBMIT_OPTIONS: readonly (keyof SubmitOptions)[] = ['transaction', 'acceptExisting', 'client', 'signal'];

/** Cancellation and lists are loaded on first use. */
const cancellation = lazy(() => import('./cancel.ts'));
const transaction = lazy(() => import('./read-transaction.ts'));
const listing = lazy(async () => {
  const [lists, { parseQueryOfBook }] = await Promise.all([import('./list-orders.ts'), import('./list-query.ts')]);
  return { ...lists, parseQueryOfBook };
});

/** Lists of cached orders that are joined in one tick of the event loop. 128 orders take a tenth of a millisecond. */
const CACHED_LISTS_PER_TICK = 8;

/** Lists that are read from the store in one tick. Reading and rendering 128 orders takes several milliseconds. */
const LISTS_PER_TICK = 1;

export interface OrderApiContext {
  /** The context of reads, with the store and the clock of the book. */
  readonly reading: ReadContext & { readonly store: Store; readonly clock: Clock };
  readonly streams: Lazy<OrderStreams>;
  /** Returns the context of a started book. Throws a `StoreError` otherwise. */
  readonly admission: () => AdmissionContext;
  readonly competitionStatus: (uid: Hex) => ReturnType<OrderApi['competitionStatus']>;
  readonly convertCodes: ConvertCodes;
  /** Called after entries were appended to the log. */
  readonly wake: () => void;
  readonly onSubmitted: Observer<SubmissionObservation>;
}

export function createOrderApi(context: OrderApiContext): OrderApi {
  const { reading, wake, onSubmitted } = context;
  const { clock } = reading;
  const rendered = createRenderedReads(context);

  const orders: OrderApi = {
    rendered,
    async submit(order, options) {
      const [result] = await orders.submitMany([order], options);
      if (result === undefined) throw new Error('a submitted order has no result');
      return result;
    },
    async submitMany(creations, options) {
      const startedAt = readMonotonic(clock);
      const admission = context.admission();
      const inputs = requireList('orders', creations);
      // A misspelled `transaction` would store the orders outside of it.
      if (options !== undefined) assertKnownOptions('orders.submit', options, SUBMIT_OPTIONS);
      const submitted = await admission.submissions.track(() => submit(inputs, admission, options));
      const areAccepted = submitted.every(({ status }) => status === 'accepted');
      const results = areAccepted ? submitted : await Promise.all(submitted.map(admission.convertCodes));
      if (onSubmitted.hasListeners())
        onSubmitted.notify(toSubmissionObservation(results, readMonotonic(clock) - startedAt));
      if (results.some(({ status }) => status !== 'rejected')) wake(); // `unknown` may be stored
      return results;
    },
    async get(uid) {
      const order = await rendered.get(uid);
      return order && (JSON.parse(order.json) as Order); // rendered from an `Order`
    },
    async getMany(uids) {
      return toOrderResults(await rendered.getMany(uids));
    },
    async list(query) {
      return toOrderPage(await rendered.list(query));
    },
    async listByTransaction(hash) {
      return (await rendered.listByTransaction(hash)).map(({ json }) => JSON.parse(json) as Order); // as in `get`
    },
    async simulate(target, options = {}) {
      const admission = context.admission();
      const order = typeof target === 'string' ? await orders.get(target) : await parseInput(target, admission);
      return order && (await import('./simulation.ts')).simulateOrder(order, options, admission, getInteractions);
    },
    async cancel(request) {
      const admission = context.admission();
      const result = await cancellation.use(({ cancel }) => cancel(request, admission));
      if (result.status !== 'rejected') wake();
      return result;
    },
    async competitionStatus(uid) {
      context.admission();
      return context.competitionStatus(requireUid(uid));
    },
    async stream(filter, options) {
      return context.streams.use(async ({ toEvent }) => mapAsync(await rendered.stream(filter, options), toEvent));
    },
  };
  return orders;
}

function createRenderedReads({ reading, streams, admission, convertCodes }: OrderApiContext): OrderApi['rendered'] {
  const cachedLists = createThrottle(CACHED_LISTS_PER_TICK);
  const lists = createThrottle(LISTS_PER_TICK);
  // A store with one writer returns before another read could arrive, so there is nothing to share.
  const share = reading.store.traits.writers === 'many' ? createSharing() : readAlone;
  // Shared reads are found by their valid UIDs. Other reads check only the UIDs that the cache does not contain.
  const toKeys = (uids: readonly string[]) => {
    const list = requireList('uids', uids);
    return share === readAlone ? list : list.map(requireUid);
  };

  /** Reads from the store. If the store is not open, the error is that of the book. */
  async function readStore<T>(key: () => string, read: () => Promise<T>): Promise<T> {
    try {
      return await share(key, read);
    } catch (error) {
      admission();
      throw error;
    }
  }

  /** Reads a page. It is not shared: each caller pays for its rows, and ends its read when it leaves. */
  function readPage<P>(
    name: string,
    query: ListQuery,
    options: ReadOptions | undefined,
    read: (lists: typeof import('./list-orders.ts'), filter: ListFilter) => Promise<P>,
  ): Promise<P> {
    return listing.use(async (lists) => {
      admission();
      if (options !== undefined) assertOptionsObject(`orders.rendered.${name}`, options);
      return read(lists, await lists.parseQueryOfBook(query, convertCodes));
    });
  }

  return {
    async get(uid) {
      const parsed = requireUid(uid);
      return readStore(
        () => `get ${parsed}`,
        () => readOrder(parsed, reading),
      );
    },
    async getMany(uids) {
      const keys = toKeys(uids);
      return readStore(
        () => `getMany ${keys.join()}`,
        () => readOrders(keys, reading),
      );
    },
    async getManyBytes(uids, options) {
      const keys = toKeys(uids);
      const acquire = async (throttle: typeof lists) => {
        await throttle.acquire(options?.client);
        assertNotAborted(options?.signal);
      };
      const isAlone = share === readAlone;
      await acquire(isAlone ? cachedLists : lists);
      // The bytes of a shared read belong to several callers, so none of them provides the memory.
      const own = isAlone ? { waitForStore: () => acquire(lists), allocate: options?.allocate } : undefined;
      return readStore(
        () => `getManyBytes ${keys.join()}`,
        () => readManyBytes(keys, reading, own),
      );
    },
    list: (query = {}, options) =>
      readPage('list', query, options, ({ listOrders }, filter) => listOrders(filter, reading, options)),
    listBytes: (query = {}, options) =>
      readPage('listBytes', query, options, ({ listOrderBytes }, filter) => listOrderBytes(filter, reading, options)),
    async listByTransaction(hash, options = {}) {
      admission();
      assertOptionsObject('orders.rendered.listByTransaction', options);
      return transaction.use(({ readTransaction }) => readTransaction(hash, reading, options));
    },
    async stream(filter, options) {
      admission();
      return streams.use(({ subscribe }) => subscribe(filter, options));
    },
  };
}

type Share = <T>(key: () => string, read: () => Promise<T>) => Promise<T>;

/** Coalesces concurrent reads with the same key. */
function createSharing(): Share {
  const coalesce = createRequestCoalescer();
  return (key, read) => coalesce(key(), read);
}

function readAlone<T>(_key: () => string, read: () => Promise<T>): Promise<T> {
  return read();
}

/** Order methods. Rejections are returned; failures are thrown. */
export interface OrderApi {
  /** Validates and stores a signed order. */
  submit(order: OrderCreation, options?: SubmitOptions): Promise<SubmitResult>;
  /**
   * Submits many orders. Each is validated independently; accepted orders are stored in one durable step.
   *
   * @returns one result per order, in input order.
   */
  submitMany(orders: readonly OrderCreation[], options?: SubmitOptions): Promise<SubmitResult[]>;
  /**
   * Returns an order. `undefined` if it does not exist.
   *
   * @throws OrderBookError `InvalidParameter` if `uid` is not 0x and 112 hex digits.
   */
  get(uid: string): Promise<Order | undefined>;
  /** Returns any number of orders, each once. Unknown UIDs are left out; an unreadable row is an `error` element. */
  getMany(uids: readonly string[]): Promise<OrderResult[]>;
  /**
   * Lists orders by page, newest first.
   *
   * @throws OrderBookError `InvalidParameter` for an invalid filter.
   */
  list(query?: ListQuery): Promise<OrderPage>;
  /**
   * Simulates the settlement of a stored order, by its UID, or of an order that is not stored. `undefined` if the order
   * does not exist. Nothing is stored or sent.
   */
  simulate(target: string | OrderCreation, options?: SimulateOptions): Promise<SimulateResult | undefined>;
  /** Cancels orders by their owner's signature: all or none. */
  cancel(request: OrderCancellations | OrderCancellation): Promise<CancelResult>;
  /**
   * Streams the changes of an owner's orders, of one order, or of all orders. Ending the iteration, aborting the signal
   * or closing the book ends the stream.
   *
   * @throws OrderBookError `InvalidParameter` for an invalid filter.
   */
  stream(filter: OrderStreamFilter, options?: StreamOptions): Promise<AsyncIterable<OrderStreamEvent>>;
  /** The same reads as JSON text, as the HTTP interface sends them. Nothing is parsed. */
  readonly rendered: {
    get(uid: string, options?: ReadOptions): Promise<RenderedOrder | undefined>;
    getMany(uids: readonly string[]): Promise<RenderedResult[]>;
    /**
     * Returns a JSON array of `{"order": …}` and `{"error": …}` in UTF-8, as by_uids responds. `allocate` may provide
     * its memory: it returns a `Uint8Array` of a size in bytes.
     */
    getManyBytes(uids: readonly string[], options?: EncodedReadOptions): Promise<Uint8Array>;
    list(query?: ListQuery, options?: ReadOptions): Promise<RenderedPage>;
    /** Returns a page as a JSON array in UTF-8. `allocate` may provide its memory, as for `getManyBytes`. */
    listBytes(query?: ListQuery, options?: EncodedReadOptions): Promise<EncodedPage>;
    listByTransaction(hash: string, options?: ReadOptions): Promise<RenderedOrder[]>;
    stream(filter: OrderStreamFilter, options?: StreamOptions): Promise<Stream>;
  };
  /**
   * Lists the orders that a transaction traded: each once, in the order of its trades.
   *
   * @throws OrderBookError `InvalidParameter` if `hash` is not 0x and 64 hex digits.
   */
  listByTransaction(hash: string): Promise<Order[]>;
  /**
   * Returns the status of an order in the solver competition.
   *
   * @throws OrderBookError `InvalidParameter` for a malformed UID, `NotFound` for an unknown one.
   */
  competitionStatus(uid: string): Promise<CompetitionStatus>;
}

export function toOrderPage({ orders, next }: RenderedPage): OrderPage {
  const page = { orders: orders.map(({ json }) => JSON.parse(json) as Order) }; // JSON of orders
  return next === undefined ? page : { ...page, next: formatCursor(next) };
}

function toOrderResults(results: readonly RenderedResult[]): OrderResult[] {
  return results.map((result) =>
    result.error === undefined ? { order: JSON.parse(result.order.json) as Order } : { error: result.error },
  );
}

import { assertNotAborted, countRows } from '../concurrency/abort.ts';
import { createRequestCoalescer } from '../concurrency/coalesce.ts';
import type { Lazy } from '../concurrency/lazy.ts';
import { lazy } from '../concurrency/lazy.ts';
import { mapAsync } from '../concurrency/map-async.ts';
import { createThrottle } from '../concurrency/throttle.ts';
import type { Observer, SubmissionObservation } from '../instrumentation.ts';
import { toSubmissionObservation } from '../instrumentation.ts';
import type { OrderApi } from '../order-book.ts';
import type { Clock } from '../ports/clock.ts';
import { readMonotonic } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import type { Hex } from '../protocol/hex.ts';
import { getInteractions } from '../protocol/trampoline.ts';
import { requireUid } from '../protocol/uid.ts';
import type { OrderStreams } from '../streams/order-streams.ts';
import type { AdmissionContext } from './admission.ts';
import { parseListQuery, toOrderPage, toOrderResults } from './listing.ts';
import type { Order } from './order-json.ts';
import type { ReadContext } from './read.ts';
import { readManyBytes, readOrder, readOrders } from './read.ts';
import { parseInput, submit } from './submit.ts';

/** Cancellation and listings are loaded on first use. */
const cancellation = lazy(() => import('./cancel.ts'));
const listing = lazy(() => import('./list.ts'));

/** Lists of cached orders that are joined in one tick of the event loop. 128 orders take a tenth of a millisecond. */
const CACHED_LISTS_PER_TICK = 8;

/** Lists that are read from the store in one tick. Reading and rendering 128 orders takes several milliseconds. */
const LISTS_PER_TICK = 1;

export interface OrderApiContext {
  /** The context of reads, with the store and the clock of the book. */
  readonly reading: ReadContext & { readonly store: Store; readonly clock: Clock };
  readonly streams: Lazy<OrderStreams>;
  /** Returns the context of a started book. Throws a `StoreError` `Closed` otherwise. */
  readonly admission: () => AdmissionContext;
  readonly competitionStatus: (uid: Hex) => ReturnType<OrderApi['competitionStatus']>;
  /** Called after entries were appended to the log. */
  readonly wake: () => void;
  readonly onSubmitted: Observer<SubmissionObservation>;
}

/** Creates the order methods of a book. */
export function createOrderApi(context: OrderApiContext): OrderApi {
  const { reading, wake, onSubmitted } = context;
  const { store, clock } = reading;
  const cachedLists = createThrottle(CACHED_LISTS_PER_TICK);
  const lists = createThrottle(LISTS_PER_TICK);
  // A store with one writer returns before another read could arrive, so there is nothing to share.
  const share = store.traits.writers === 'many' ? createSharing() : readAlone;
  // Shared reads are found by their valid UIDs. Other reads check only the UIDs that the cache does not contain.
  const toKeys = (uids: readonly string[]) => (share === readAlone ? uids : uids.map(requireUid));

  const rendered: OrderApi['rendered'] = {
    async get(uid) {
      const parsed = requireUid(uid);
      // Without `await`, the result would need two more turns.
      return await share(
        () => `get ${parsed}`,
        () => readOrder(parsed, reading),
      );
    },
    async getMany(uids) {
      const keys = toKeys(uids);
      return share(
        () => `getMany ${keys.join()}`,
        () => readOrders(keys, reading),
      );
    },
    async getManyBytes(uids, options) {
      const keys = toKeys(uids);
      const waitForStore = async () => {
        await lists.acquire();
        assertNotAborted(options?.signal);
      };
      if (share === readAlone) {
        await cachedLists.acquire();
        assertNotAborted(options?.signal);
        return readManyBytes(keys, reading, { waitForStore, allocate: options?.allocate });
      }
      // The bytes of a shared read belong to several callers, so none of them provides the memory.
      await waitForStore();
      return share(
        () => `getManyBytes ${keys.join()}`,
        () => readManyBytes(keys, reading),
      );
    },
    async list(query = {}, options) {
      const parsed = parseListQuery(query);
      if (share === readAlone) return listing.use(({ listOrders }) => listOrders(parsed, reading, options));
      // A shared read does not end when one of its callers disconnects.
      const page = await share(
        () => `list ${JSON.stringify(parsed)}`,
        () => listing.use(({ listOrders }) => listOrders(parsed, reading)),
      );
      countRows(options ?? {}, page.orders.length);
      return page;
    },
    async listBytes(query = {}, options) {
      const parsed = parseListQuery(query);
      if (share === readAlone) return listing.use(({ listOrderBytes }) => listOrderBytes(parsed, reading, options));
      // As in `list`. The bytes belong to several callers, so none of them provides the memory.
      const page = await share(
        () => `listBytes ${JSON.stringify(parsed)}`,
        () => listing.use(({ listOrderBytes }) => listOrderBytes(parsed, reading)),
      );
      countRows(options ?? {}, page.count);
      return page;
    },
    async listByTransaction(hash, options) {
      return (await import('./read-transaction.ts')).readTransaction(hash, reading, options);
    },
    async stream(filter, options) {
      context.admission();
      return context.streams.use((streams) => streams.subscribe(filter, options));
    },
  };

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
      const submitted = await admission.run(() => submit(creations, admission, options));
      const areAccepted = submitted.every(({ status }) => status === 'accepted');
      const results = areAccepted ? submitted : await Promise.all(submitted.map(admission.convertCodes));
      if (onSubmitted.hasListeners())
        onSubmitted.notify(toSubmissionObservation(results, readMonotonic(clock) - startedAt));
      if (results.some(({ status }) => status === 'accepted')) wake();
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
      const { verifier, domain } = context.admission();
      const result = await cancellation.use(({ cancel }) => cancel(request, { store, clock, domain, verifier }));
      if (result.status === 'cancelled') wake();
      return result;
    },
    async competitionStatus(uid) {
      return context.competitionStatus(requireUid(uid));
    },
    async stream(filter, options) {
      return context.streams.use(async ({ toEvent }) => mapAsync(await rendered.stream(filter, options), toEvent));
    },
  };
  return orders;
}

type Share = <T>(key: () => string, read: () => Promise<T>) => Promise<T>;

/** Coalesces concurrent reads with the same key. */
function createSharing(): Share {
  const coalesce = createRequestCoalescer();
  return (key, read) => coalesce(key(), read);
}

/** Reads without coalescing. */
function readAlone<T>(_key: () => string, read: () => Promise<T>): Promise<T> {
  return read();
}

import type { OrderBook, UpstreamState } from 'intentbook';
import type { Accounts } from 'intentbook/accounts';
import type {
  Counter as CounterMetric,
  Gauge as GaugeMetric,
  Histogram as HistogramMetric,
  Registry,
} from 'prom-client';
import { importPackage, requireFunctions } from '#internal';

/** The `Registry` of prom-client. Declared by its shape, so that other hosts need no types of the package. */
export interface MetricsRegistry {
  metrics(): Promise<string>;
  readonly contentType: string;
}

/** Histogram buckets in seconds, from a cached read to a slow response. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Histogram buckets in seconds of calls of drivers, whose settlements wait for a block. */
const DRIVER_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60, 120];

/** The connection of a book to its nodes. */
export interface ChainState {
  /** Whether a node responded to the last request. `undefined` before the first one. */
  readonly up: boolean | undefined;
  /** Blocks between the head of the chain and the indexed block. `undefined` before the first response. */
  readonly lag: number | undefined;
  /** Time of the newest block of a node, in seconds since 1970. `undefined` before the first response. */
  readonly headTimestamp?: number | undefined;
  /** Whether another process indexes the book, and this one queries no node. Default: false. */
  readonly standingBy?: boolean;
}

/** A book whose metrics are collected. */
export interface InstrumentedBook {
  /** Value of the label `book`. */
  readonly name: string;
  readonly book: OrderBook;
  /** The connection to its nodes: a live object. Absent: the book has no nodes, and no such series. */
  readonly chain?: ChainState;
}

/**
 * Observes the connection of a book to its nodes. Call it before the book starts, so that no event is missed.
 *
 * @param onChange - Called when a node responds for the first time, fails, or responds again.
 */
export function observeChain(
  book: Pick<OrderBook, 'on'>,
  onChange: (state: { readonly up: boolean; readonly source?: string; readonly failure?: unknown }) => void = () => {},
): ChainState {
  requireFunctions('observeChain: book', book, ['on']);
  const state: { -readonly [K in keyof ChainState]: ChainState[K] } = { up: undefined, lag: undefined };
  book.on('chainProgress', (observation) => {
    if (observation.type === 'standingBy') {
      [state.up, state.lag, state.headTimestamp, state.standingBy] = [undefined, undefined, undefined, true];
      return;
    }
    state.standingBy = false;
    if (observation.type === 'head') state.headTimestamp = observation.timestamp;
    else if (observation.type === 'progress') {
      state.lag = Math.max(0, observation.head - observation.block);
      if (state.up === true) return;
      state.up = true;
      onChange({ up: true });
    } else if (observation.type === 'failure' && state.up !== false) {
      state.up = false;
      onChange({ up: false, source: observation.source, failure: observation.failure });
    }
  });
  return state;
}

/**
 * Adds the metrics of books to a registry of the application. The names are those of the standalone server. Call it
 * again for books that are added later; a book that the registry has already is left out. Requires the package
 * prom-client.
 *
 * ```ts
 * await instrumentBooks(register, [{ name: 'sepolia', book }]);
 * ```
 *
 * @throws TypeError for two books of one name.
 */
export async function instrumentBooks(target: MetricsRegistry, books: readonly InstrumentedBook[]): Promise<void> {
  requireFunctions('instrumentBooks: registry', target, ['metrics', 'getSingleMetric']);
  for (const { book } of books) requireFunctions('instrumentBooks: book', book, ['on']);
  const names = new Set(books.map(({ name }) => name));
  if (names.size < books.length) throw new TypeError('instrumentBooks: books must have different names');
  const registry = target as Registry; // the package's own registry has more members
  const { Counter, Gauge, Histogram } = await importPackage(
    'instrumentBooks',
    'prom-client',
    () => import('prom-client'),
  );
  const { counter, histogram, known, isNew } = getMetrics(registry, { Counter, Histogram });
  const metrics = createBookMetrics(counter, histogram);
  if (isNew) createGauges(Gauge, registry, known);
  for (const each of books) {
    if (known.has(each.book)) continue;
    known.set(each.book, each);
    observeBook(metrics, each);
  }
}

function createBookMetrics(counter: Metrics['counter'], histogram: Metrics['histogram']) {
  return {
    orders: counter(
      'intentbook_orders_submitted_total',
      'Submitted orders by result: "accepted" or the rejection code.',
      ['book', 'outcome'],
    ),
    submission: histogram(
      'intentbook_submission_seconds',
      'Duration of submissions until all orders were stored or rejected.',
      ['book'],
    ),
    signatures: counter('intentbook_signatures_recovered_total', 'Recovered signers by backend.', ['book', 'backend']),
    recovery: counter('intentbook_signature_recovery_seconds_total', 'Duration of signer recovery by backend.', [
      'book',
      'backend',
    ]),
    store: histogram('intentbook_store_seconds', 'Duration of store operations.', ['book', 'operation', 'outcome']),
    sources: histogram('intentbook_estimator_seconds', 'Duration of estimator queries by outcome.', [
      'book',
      'source',
      'request',
      'outcome',
    ]),
    drivers: histogram(
      'intentbook_driver_seconds',
      'Duration of calls of drivers by step and outcome. A call of settle is a win.',
      ['book', 'driver', 'step', 'outcome'],
      DRIVER_SECONDS,
    ),
    pruned: counter('intentbook_pruned_total', 'Rows that retention has deleted.', ['book', 'data']),
    reorganisations: counter('intentbook_reorganisations_total', 'Chain reorganisations.', ['book']),
    calls: histogram('intentbook_upstream_seconds', 'Duration of requests to the upstream by class and outcome.', [
      'book',
      'class',
      'outcome',
    ]),
    differences: counter(
      'intentbook_upstream_differences_total',
      'Differences of followed orders by field and by what has resolved them.',
      ['book', 'field', 'resolution'],
    ),
    failures: counter('intentbook_failures_total', 'Failures without a caller.', ['book']),
  };
}

/** Adds the events of a book to the metrics. */
function observeBook(metrics: ReturnType<typeof createBookMetrics>, { name, book }: InstrumentedBook): void {
  const label = { book: name };
  // A counter that appears with its first event has no increase that an alert could notice.
  for (const counter of [metrics.failures, metrics.reorganisations]) counter.inc(label, 0);
  book.on('ordersSubmitted', ({ accepted, rejected, ms }) => {
    if (accepted > 0) metrics.orders.inc({ ...label, outcome: 'accepted' }, accepted);
    for (const outcome of rejected) metrics.orders.inc({ ...label, outcome });
    metrics.submission.observe(label, ms / 1000);
  });
  book.on('signersRecovered', ({ backend, signatures: count, ms }) => {
    metrics.signatures.inc({ ...label, backend }, count);
    metrics.recovery.inc({ ...label, backend }, ms / 1000);
  });
  book.on('storeQueried', ({ operation, ms, failed }) => {
    metrics.store.observe({ ...label, operation, outcome: failed ? 'failure' : 'responded' }, ms / 1000);
  });
  book.on('estimatorQueried', ({ source, request, outcome, ms }) => {
    metrics.sources.observe({ ...label, source, request, outcome }, ms / 1000);
  });
  book.on('driverCalled', ({ driver, step, ms, failed }) => {
    metrics.drivers.observe({ ...label, driver, step, outcome: failed ? 'failed' : 'responded' }, ms / 1000);
  });
  book.on('dataPruned', ({ data, removed }) => metrics.pruned.inc({ ...label, data }, removed));
  book.on('chainProgress', (observation) => {
    if (observation.type === 'reorganised') metrics.reorganisations.inc(label);
  });
  book.on('upstreamCalled', ({ class: name, outcome, ms }) => {
    metrics.calls.observe({ ...label, class: name, outcome }, ms / 1000);
  });
  book.on('upstreamDiffered', ({ field, resolution }) => metrics.differences.inc({ ...label, field, resolution }));
  book.on('failure', () => metrics.failures.inc(label));
}

/** Creates the metrics that are read when they are collected. */
function createGauges(
  Gauge: typeof import('prom-client').Gauge,
  registry: Registry,
  books: ReadonlyMap<OrderBook, InstrumentedBook>,
): void {
  const gauge = (name: string, help: string, collect: (this: GaugeMetric) => void | Promise<void>) =>
    new Gauge({ name, help, labelNames: ['book'], registers: [registry], collect });
  /** `undefined` is no value. */
  const chainGauge = (name: string, help: string, read: (chain: ChainState) => number | undefined) =>
    gauge(name, help, function () {
      for (const { name: book, chain } of books.values()) {
        const value = chain && read(chain);
        if (value === undefined) this.remove({ book });
        else this.set({ book }, value);
      }
    });
  chainGauge(
    'intentbook_chain_up',
    'Whether a node of the chain responded to the last request: 1 or 0.',
    // A process that stands by does not know, and must not cause an alert.
    ({ standingBy, up }) => (standingBy === true ? undefined : up === true ? 1 : 0),
  );
  chainGauge(
    'intentbook_indexer_lag_blocks',
    'Blocks between the head of the chain and the indexed block. NaN before the first response of a node, and in a process that stands by.',
    ({ lag }) => lag ?? Number.NaN,
  );
  chainGauge(
    'intentbook_chain_head_timestamp_seconds',
    'Time of the newest block of a node, in seconds since 1970.',
    ({ headTimestamp }) => headTimestamp,
  );
  const upstreamGauge = (name: string, help: string, read: (state: UpstreamState) => number) =>
    gauge(name, help, async function () {
      for (const { name, book } of books.values()) {
        const current = await book.upstream?.state().catch(() => undefined); // the book is closed
        if (current !== undefined) this.set({ book: name }, read(current));
      }
    });
  upstreamGauge(
    'intentbook_upstream_lag_seconds',
    'Time by which the oldest due read of the upstream is late.',
    ({ lag }) => lag / 1000,
  );
  upstreamGauge(
    'intentbook_upstream_staleness_seconds',
    'Age of what is known of the followed order that is read next.',
    ({ staleness }) => staleness / 1000,
  );
  upstreamGauge(
    'intentbook_upstream_clock_skew_seconds',
    'Time by which the clock of the upstream is ahead of that of this host.',
    ({ clockSkew }) => (clockSkew ?? Number.NaN) / 1000,
  );
  upstreamGauge(
    'intentbook_upstream_relayed',
    'Orders on their way to the upstream, and those that it has rejected in the last week.',
    ({ relayed }) => relayed,
  );
  upstreamGauge('intentbook_upstream_orders', 'Orders that are followed.', ({ orders: followed }) => followed);
  upstreamGauge(
    'intentbook_upstream_paused',
    'Classes of requests to the upstream that are paused, or whose last request failed.',
    ({ paused, failing }) => new Set([...Object.keys(paused), ...Object.keys(failing)]).size,
  );
}

type Metrics = ReturnType<typeof getMetrics>;

/** The books whose metrics a registry has. */
const registered = new WeakMap<Registry, Map<OrderBook, InstrumentedBook>>();

/** Returns functions that create a metric, or return that of an earlier call. */
function getMetrics(
  registry: Registry,
  { Counter, Histogram }: Pick<typeof import('prom-client'), 'Counter' | 'Histogram'>,
) {
  // A registry that was cleared has no metrics any more.
  const isNew = registry.getSingleMetric('intentbook_chain_up') === undefined;
  const known = (isNew ? undefined : registered.get(registry)) ?? new Map<OrderBook, InstrumentedBook>();
  registered.set(registry, known);
  const registers = [registry];
  return {
    isNew,
    known,
    counter: (name: string, help: string, labelNames: readonly string[]) =>
      (registry.getSingleMetric(name) as CounterMetric | undefined) ??
      new Counter({ name, help, labelNames, registers }),
    histogram: (name: string, help: string, labelNames: readonly string[], buckets = SECONDS) =>
      (registry.getSingleMetric(name) as HistogramMetric | undefined) ??
      new Histogram({ name, help, labelNames, buckets, registers }),
  };
}

/** The account interfaces that a metric observes. A registry that was cleared gets a new metric. */
const observed = new WeakMap<HistogramMetric, WeakSet<object>>();

/**
 * Adds the metrics of the sources of an account interface to a registry of the application: prices, histories, tokens,
 * pools, simulations and statistics. An interface that the registry has already is left out. Requires the package
 * prom-client.
 */
export async function instrumentAccounts(target: MetricsRegistry, accounts: Pick<Accounts, 'observe'>): Promise<void> {
  requireFunctions('instrumentAccounts: registry', target, ['metrics', 'getSingleMetric']);
  const registry = target as Registry; // the package's own registry has more members
  const { Counter, Histogram } = await importPackage('instrumentAccounts', 'prom-client', () => import('prom-client'));
  const { counter, histogram } = getMetrics(registry, { Counter, Histogram });
  const queries = histogram(
    'intentbook_source_seconds',
    'Duration of queries of the sources of the account interface.',
    ['subject', 'source', 'outcome'],
  );
  const hits = counter(
    'intentbook_source_cache_hits_total',
    'Values of sources of the account interface that were cached.',
    ['subject'],
  );
  const known = observed.get(queries) ?? new WeakSet();
  if (known.has(accounts)) return;
  observed.set(queries, known.add(accounts));
  accounts.observe(({ subject, source, outcome, ms }) => {
    if (outcome === 'cached') hits.inc({ subject });
    else queries.observe({ subject, source, outcome }, ms / 1000);
  });
}

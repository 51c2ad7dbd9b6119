import { statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { OrderBookError } from 'intentbook';
import type { AccountBacklog, Accounts } from 'intentbook/accounts';
import { instrumentAccounts, instrumentBooks } from 'intentbook/prometheus';
import type { Gauge } from 'prom-client';
import { defined, rejectionResponse } from '#internal';
import type { OpenBook } from './books/open-books.ts';
import type { ReadinessWatch } from './books/readiness-watch.ts';
import type { Exchange } from './http/exchange.ts';
import { createHardenedServer, type HardenedServer } from './http/hardened-server.ts';
import { requirePackage } from './require-package.ts';

/** Histogram buckets in seconds, from a cached read to a slow response. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

type Metrics = Awaited<ReturnType<typeof createMetrics>>;

/** Adds a gauge, which `collect` sets at each scrape. */
type AddGauge = (
  name: string,
  help: string,
  labelNames: readonly string[],
  collect: (gauge: Gauge) => void | Promise<void>,
) => void;

/**
 * Creates the metrics of books and interfaces. Requires the package prom-client.
 *
 * @param streams - Returns the number of open event streams.
 * @param accounts - The account interface, for its backlog.
 * @param paths - Path templates with their methods, as in the OpenAPI document.
 */
export async function createMetrics(
  deployments: readonly OpenBook[],
  streams: () => number,
  accounts: Accounts | undefined,
  { isReady }: Pick<ReadinessWatch, 'isReady'>,
  paths: Readonly<Record<string, object>>,
) {
  const { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } = await requirePackage(
    '--metrics-port',
    'prom-client',
    () => import('prom-client'),
  );
  const register = new Registry();
  const registers = [register];
  collectDefaultMetrics({ register });
  const addGauge: AddGauge = (name, help, labelNames, collect) =>
    void new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        return collect(this);
      },
    });

  const requests = new Counter({
    name: 'intentbook_http_requests_total',
    help: 'Requests by method, route and status.',
    labelNames: ['method', 'route', 'status'],
    registers,
  });
  const latency = new Histogram({
    name: 'intentbook_http_request_seconds',
    help: 'Duration of requests until the response.',
    labelNames: ['method', 'route'],
    buckets: SECONDS,
    registers,
  });
  const rejections = new Counter({
    name: 'intentbook_http_rejections_total',
    help: 'Rejections over HTTP by code.',
    labelNames: ['code'],
    registers,
  });
  addGauge('intentbook_streams', 'Open event streams.', [], (gauge) => gauge.set(streams()));
  const ready = 'Whether a book, or the account interface ("accounts"), can serve: 1 or 0.';
  addGauge('intentbook_ready', ready, ['book'], (gauge) => {
    for (const { path } of deployments) gauge.set({ book: path }, Number(isReady(path)));
    if (accounts !== undefined) gauge.set({ book: 'accounts' }, Number(isReady('accounts')));
  });
  const logSize = 'Size of the write-ahead log of a book in a file.';
  addGauge('intentbook_sqlite_log_bytes', logSize, ['book'], (gauge) => {
    for (const { path, database } of deployments) {
      if (database === undefined || !isAbsolute(database)) continue;
      gauge.set({ book: path }, statSync(`${database}-wal`, { throwIfNoEntry: false })?.size ?? 0);
    }
  });
  // A series that begins with its first failures has no increase that an alert could notice.
  for (const [template, methods] of Object.entries(paths)) {
    const prefixes = template.startsWith('/api/') ? deployments.map(({ path }) => path) : ['/'];
    for (const prefix of prefixes) {
      const route = prefix === '/' ? template : prefix + template;
      for (const method of Object.keys(methods)) requests.inc({ method: method.toUpperCase(), route, status: 500 }, 0);
    }
  }
  const books = deployments.map(({ path, book, monitor }) => ({ name: path, book, ...defined({ chain: monitor }) }));
  await instrumentBooks(register, books);

  if (accounts !== undefined) {
    await instrumentAccounts(register, accounts);
    addBacklog(addGauge, accounts, deployments);
  }

  return {
    /** Records a request. `route` is the template of its path. */
    exchanged({ method, status, errorType, ms }: Exchange, route: string): void {
      requests.inc({ method, route, status });
      latency.observe({ method, route }, ms / 1000);
      if (errorType !== undefined) rejections.inc({ code: errorType });
    },
    /** Returns the metrics in the text format of Prometheus. */
    render: (): Promise<string> => register.metrics(),
  };
}

/** Adds the backlog of deliveries and notifications. */
function addBacklog(addGauge: AddGauge, accounts: Accounts, deployments: readonly OpenBook[]): void {
  const look = shared(accounts);
  const states = 'Notification deliveries by state: pending or dead; and suspended subscriptions.';
  addGauge('intentbook_deliveries', states, ['state'], async (gauge) => {
    const { pending, dead, suspended } = (await look())?.deliveries ?? {};
    const counts = Object.entries(defined({ pending, dead, suspended }));
    for (const [state, count] of counts) gauge.set({ state }, count);
  });
  const lag = 'Log entries of a book that the notification indexer has not processed.';
  addGauge('intentbook_notification_lag_entries', lag, ['book'], async (gauge) => {
    for (const { book, entries } of (await look())?.books ?? []) {
      const path = deployments.find((each) => each.book === book)?.path;
      if (path !== undefined) gauge.set({ book: path }, entries);
    }
  });
}

/** Shares one query among concurrent scrapes. A failed query is reported, and the other metrics are still served. */
function shared(accounts: Accounts): () => Promise<AccountBacklog | undefined> {
  let looking: Promise<AccountBacklog | undefined> | undefined;
  const look = async () => {
    try {
      return await accounts.backlog();
    } catch (failure) {
      accounts.reportError(failure);
      return undefined;
    } finally {
      looking = undefined;
    }
  };
  return () => {
    looking ??= look();
    return looking;
  };
}

/** Creates the HTTP interface of the metrics port, which can be kept private. */
export function metricsServer(metrics: Metrics): HardenedServer {
  return createHardenedServer((request, response) => {
    request.resume();
    const [path] = (request.url ?? '').split('?', 1);
    if (path !== '/metrics' || !['GET', 'HEAD'].includes(request.method ?? '')) {
      const { status, headers, body } = rejectionResponse(
        new OrderBookError('NotFound', 'metrics are served at /metrics'),
      );
      response.writeHead(status, { ...headers }).end(body);
      return;
    }
    metrics.render().then(
      (text) => response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(text),
      () => response.destroy(),
    );
  });
}

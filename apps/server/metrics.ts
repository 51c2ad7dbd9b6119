import { statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { OrderBookError } from 'intentbook';
import type { AccountBacklog, Accounts } from 'intentbook/accounts';
import { instrumentAccounts, instrumentBooks } from 'intentbook/prometheus';
import type { Registry } from 'prom-client';
import { rejectionResponse } from '#internal';
import type { OpenBook } from './books/open-books.ts';
import type { ReadinessWatch } from './books/readiness-watch.ts';
import type { Exchange } from './http/exchange.ts';
import { createHardenedServer, type HardenedServer } from './http/hardened-server.ts';
import { requirePackage } from './require-package.ts';

/** Histogram buckets in seconds, from a cached read to a slow response. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

type Metrics = Awaited<ReturnType<typeof createMetrics>>;

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
  const registers: Registry[] = [new Registry()];
  const [register] = registers as [Registry]; // one element
  collectDefaultMetrics({ register });

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
  new Gauge({
    name: 'intentbook_streams',
    help: 'Open event streams.',
    registers,
    collect() {
      this.set(streams());
    },
  });
  new Gauge({
    name: 'intentbook_ready',
    help: 'Whether a book, or the account interface ("accounts"), can serve: 1 or 0.',
    labelNames: ['book'],
    registers,
    collect() {
      for (const { path } of deployments) this.set({ book: path }, Number(isReady(path)));
      if (accounts !== undefined) this.set({ book: 'accounts' }, Number(isReady('accounts')));
    },
  });
  new Gauge({
    name: 'intentbook_sqlite_log_bytes',
    help: 'Size of the write-ahead log of a book in a file.',
    labelNames: ['book'],
    registers,
    collect() {
      for (const { path, database } of deployments) {
        if (database === undefined || !isAbsolute(database)) continue;
        this.set({ book: path }, statSync(`${database}-wal`, { throwIfNoEntry: false })?.size ?? 0);
      }
    },
  });
  // A series that begins with its first failures has no increase that an alert could notice.
  for (const [template, methods] of Object.entries(paths)) {
    const prefixes = template.startsWith('/api/') ? deployments.map(({ path }) => path) : ['/'];
    for (const prefix of prefixes) {
      const route = prefix === '/' ? template : prefix + template;
      for (const method of Object.keys(methods)) requests.inc({ method: method.toUpperCase(), route, status: 500 }, 0);
    }
  }
  await instrumentBooks(
    register,
    deployments.map(({ path, book, monitor }) => ({ name: path, book, ...(monitor && { chain: monitor }) })),
  );

  if (accounts !== undefined) {
    await instrumentAccounts(register, accounts);
    addBacklog(Gauge, register, accounts, deployments);
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
function addBacklog(
  Gauge: typeof import('prom-client').Gauge,
  register: Registry,
  accounts: Accounts,
  deployments: readonly OpenBook[],
): void {
  const look = shared(accounts);
  new Gauge({
    name: 'intentbook_deliveries',
    help: 'Notification deliveries by state: pending or dead; and suspended subscriptions.',
    labelNames: ['state'],
    registers: [register],
    async collect() {
      const { pending, dead, suspended } = (await look())?.deliveries ?? {};
      if (pending !== undefined) this.set({ state: 'pending' }, pending);
      if (dead !== undefined) this.set({ state: 'dead' }, dead);
      if (suspended !== undefined) this.set({ state: 'suspended' }, suspended);
    },
  });
  new Gauge({
    name: 'intentbook_notification_lag_entries',
    help: 'Log entries of a book that the notification indexer has not processed.',
    labelNames: ['book'],
    registers: [register],
    async collect() {
      for (const { book, entries } of (await look())?.books ?? []) {
        const path = deployments.find((each) => each.book === book)?.path;
        if (path !== undefined) this.set({ book: path }, entries);
      }
    },
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

import type { Api, ApiRequest, OrderBook, Store } from 'intentbook';
import { createApi, StoreError } from 'intentbook';
import { type Accounts, createAccountApi } from 'intentbook/accounts';
import type { ExplorerBook } from 'intentbook/explorer';
import { createExplorer } from 'intentbook/explorer';
import { nodeHandler } from 'intentbook/node-http';
import { callListener, createRequestClient, createRouteNames, requireFunction } from '#internal';
import type { ChainChange } from './books/chain-monitor.ts';
import { getAffiliateDomain, openAccounts } from './books/open-accounts.ts';
import type { OpenBook } from './books/open-books.ts';
import { openBooks } from './books/open-books.ts';
import type { ReadinessWatch, WatchedPart } from './books/readiness-watch.ts';
import { watchReadiness } from './books/readiness-watch.ts';
import type { ServerPlan } from './config/plan.ts';
import { planOptions } from './config/plan-options.ts';
import { createKeyCheck, createKeyGuard } from './http/api-keys.ts';
import { createConnectionLimit } from './http/connection-limit.ts';
import type { Exchange } from './http/exchange.ts';
import type { HardenedServer } from './http/hardened-server.ts';
import { createHardenedServer } from './http/hardened-server.ts';
import { describe, isReferenceServed } from './http/openapi-pages.ts';
import type { OperatorAction } from './http/operator-audit.ts';
import { createOperatorAudit } from './http/operator-audit.ts';
import { createServerPages, createStartingApi } from './http/overview.ts';
import { createPassthroughs } from './http/passthrough.ts';
import { createProxyNotice } from './http/proxy-notice.ts';
import { toRateLimitOptions } from './http/rate-limit.ts';
import { createServerApi } from './http/server-api.ts';
import { isSocketFile } from './http/socket-file.ts';
import { createMetrics, metricsServer } from './metrics.ts';
import { preload } from './preload.ts';
import type { BookSettings, ServerSettings } from './settings/schema.ts';

export type { ChainChange } from './books/chain-monitor.ts';
export type { OpenBook } from './books/open-books.ts';
export type { BookServer, ServeBooksOptions, ServedBook } from './books/serve-books.ts';
export { serveBooks } from './books/serve-books.ts';
export { ConfigError } from './config/config-errors.ts';
export type { Exchange } from './http/exchange.ts';
export type { OpenApiPagesOptions } from './http/openapi-pages.ts';
export { openApiPages } from './http/openapi-pages.ts';
export type { OperatorAction } from './http/operator-audit.ts';
export type { BookSettings, ServerSettings } from './settings/schema.ts';
export { configSchema } from './settings/schema.ts';

/** Maximum milliseconds that running requests may take when a server closes. */
const GRACE = 10_000;

/** Response bodies are copied to memory that is used again. */
const MEMORY = { reusesMemory: true };

/** A book to serve. */
export interface BookOptions extends BookSettings {
  /** A store of the host, instead of a file. */
  readonly store?: Store;
}

/** The settings of a configuration file, or, without `books`, of a single book at the root. */
export interface ServeOptions extends BookOptions, Omit<ServerSettings, 'books'> {
  readonly books?: readonly BookOptions[];
  /** Base of relative file names. Default: the current directory. */
  readonly folder?: string;
  /** Called after every response. */
  readonly onExchange?: (exchange: Exchange) => void;
  /** Called after each request to a path below `/restricted`, for an audit log. */
  readonly onOperatorAction?: (action: OperatorAction) => void;
  /** Called for failures without a caller, and for errors of the other hooks, with the path of the book. */
  readonly onFailure?: (path: string, failure: unknown) => void;
  /** Called when the connection of a book to its nodes changes. */
  readonly onChainChange?: (change: ChainChange) => void;
  /** Called with a line about the start, such as the wait for a writer lease. */
  readonly onNotice?: (message: string) => void;
  /**
   * Called once if a store has lost its file, its writer lease or its write thread (`WriterLost`), which a server does
   * not regain. It stays not ready: close it and end the process. `onFailure` is called before.
   */
  readonly onLost?: (failure: StoreError) => void;
}

/** A running server. */
export interface RunningServer {
  /** The URL of the server: `http://127.0.0.1:8080`. */
  readonly url: string;
  /** The URL of the explorer, if enabled. */
  readonly explorerUrl: string | undefined;
  /** The URL of the API reference, if the package swagger-ui-dist is installed. */
  readonly docsUrl: string | undefined;
  /** The URL of the metrics, if enabled. */
  readonly metricsUrl: string | undefined;
  /** The served books, in the order of the settings. */
  readonly deployments: readonly OpenBook[];
  /** The first book. */
  readonly book: OrderBook;
  /** The account interface, if enabled. */
  readonly accounts?: Accounts;
  /**
   * Waits for the seconds of `lameduck`, in which `/ready` is false. Then ends event streams, accepts no more
   * connections, waits up to 10 seconds for running requests, and closes the books.
   */
  close(): Promise<void>;
}

/**
 * Runs the standalone server in a program. It handles no signals and prints nothing; the command line does
 * both.
 *
 * @throws ConfigError, a TypeError, for unknown or malformed settings, TypeError for a hook that is not a function,
 * `StoreError` if a store cannot be opened, Node's error if the address is not available.
 */
export async function serve(options: ServeOptions = {}): Promise<RunningServer> {
  if (typeof options !== 'object' || options === null)
    throw new TypeError(`serve: options must be an object, got ${options}`);
  const { folder = '.', onExchange, onFailure, onChainChange, onNotice, onLost, onOperatorAction, ...given } = options;
  const hooks = { onExchange, onFailure, onChainChange, onNotice, onLost, onOperatorAction };
  for (const [name, hook] of Object.entries(hooks)) if (hook !== undefined) requireFunction(`serve: ${name}`, hook);
  const { plan, stores } = planOptions({ ...given, folder });
  const {
    port,
    host,
    rateLimit,
    trustedProxies,
    apiKeys,
    operatorToken,
    metricsPort,
    metricsHost = isSocketFile(host) ? '127.0.0.1' : host,
  } = plan.settings;
  /** Calls a hook. What it throws is reported: a response must not depend on it. */
  const notify = (hook: () => unknown) =>
    callListener(hook, undefined, (failure) => deployments[0]?.book.reportError(failure));
  const observer = {
    onFailure(path: string, failure: unknown) {
      if (failure instanceof StoreError && failure.code === 'WriterLost') watch?.wake();
      return onFailure?.(path, failure);
    },
    onChainChange: onChainChange ?? (() => {}),
    leaseWait: {
      timeout: plan.settings.leaseWait * 1000,
      onWait: (message: string) => notify(() => onNotice?.(message)),
    },
  };
  // One limiter for all books, since they share the machine.
  const checkKey = createKeyCheck(apiKeys);
  const gate = toRateLimitOptions(plan.settings, checkKey);
  const apiOptions = { ...gate, ...(operatorToken === undefined ? {} : { operatorToken }) };
  const deployments: OpenBook[] = [];
  const servers: HardenedServer[] = [];
  let current: Api = createStartingApi();
  let watch: ReadinessWatch | undefined;
  let isClosing = false;
  let isLost = false;
  let accounts: Accounts | undefined;

  async function listen(server: HardenedServer, at: number, where: string): Promise<string> {
    const url = await server.listen(at, where);
    servers.push(server);
    return url;
  }

  try {
    const observe = rateLimit === 'off' ? () => {} : createProxyNotice(trustedProxies, observer.leaseWait.onWait);
    const handle = (request: ApiRequest) => {
      observe(request);
      return current.handle(request);
    };
    const admit = rateLimit === 'off' ? undefined : createConnectionLimit(trustedProxies, rateLimit.streams);
    const main = createHardenedServer(nodeHandler({ handle }, MEMORY), undefined, admit);
    // Probes are answered during the start, which may wait for nodes and leases. A server that is being replaced may
    // still have the port: it is tried again when the books are open.
    const early = await listen(main, port, host).catch((error: unknown) => {
      if (Object(error).code !== 'EADDRINUSE') throw error;
      return undefined;
    });
    deployments.push(...(await openBooks(plan.books, observer, stores)));
    const hosted = stores.some((store) => store !== undefined);
    accounts = await openAccounts({ plan, deployments, hosted, folder, leaseWait: observer.leaseWait });
    await preload(import.meta.url);
    const opened = accounts;
    watch = watchReadiness(getParts(deployments, opened), {
      onRecovery: observer.leaseWait.onWait,
      onLost(failure) {
        isLost = true;
        notify(() => onLost?.(failure));
      },
    });
    const docs = isReferenceServed();
    const explorer = plan.settings.explorer
      ? createExplorer({
          books: deployments.map(toExplorerBook),
          accounts,
          docs: docs || 'openapi',
          webPush: accounts && toExplorerWebPush(plan),
          ...gate,
        })
      : undefined;
    const document = describe(deployments);
    const prefixes = deployments.map(({ path }) => path);
    const getRouteName = createRouteNames(Object.keys(document.paths), prefixes);
    const onAction = (action: OperatorAction) => notify(() => onOperatorAction?.(action));
    const audit = onOperatorAction && createOperatorAudit({ operatorToken, getRouteName, onAction });
    const api = createServerApi({
      mounted: [
        { path: '/', api: createAccountApi(accounts, apiOptions), aside: true },
        ...deployments.map(({ path, book, apiOptions: own }) => ({
          path,
          api: createApi(book, { ...apiOptions, ...own }),
        })),
        ...createPassthroughs(plan.settings.passthroughs, gate, (failure) => deployments[0]?.book.reportError(failure)),
        ...(explorer === undefined ? [] : [{ path: '/', api: explorer, aside: true }]),
      ],
      pages: createServerPages(
        {
          deployments,
          accounts: opened,
          explorer,
          docs,
          document: () => document,
          isClosing: () => isClosing || isLost,
        },
        gate,
      ),
      getClient: createRequestClient(gate),
      ...(apiKeys.length === 0 ? {} : { guard: createKeyGuard(checkKey, gate) }),
      onExchange(exchange, request) {
        metrics?.exchanged(exchange, getRouteName(exchange.path) ?? 'other');
        notify(() => onExchange?.(exchange));
        audit?.(request, exchange);
      },
    });
    const metrics =
      metricsPort === undefined
        ? undefined
        : await createMetrics(deployments, () => api.openStreams, accounts, watch, document.paths);
    const metricsUrl = metrics && (await listen(metricsServer(metrics), metricsPort ?? 0, metricsHost));
    const url = early ?? (await listen(main, port, host));
    current = api;
    let closing: Promise<void> | undefined;
    const close = async () => {
      isClosing = true;
      watch?.stop();
      // Load balancers need time to notice that the server is not ready.
      const { lameduck } = plan.settings;
      if (lameduck > 0 && !isLost) await new Promise((end) => setTimeout(end, lameduck * 1000));
      api.closeStreams();
      await Promise.all(servers.map((server) => server.close(GRACE)));
      await closeAll(opened, deployments);
    };
    return {
      url,
      explorerUrl: explorer === undefined || isSocketFile(host) ? undefined : `${url}/`,
      docsUrl: docs && !isSocketFile(host) ? `${url}/docs` : undefined,
      metricsUrl,
      deployments,
      book: (deployments[0] as OpenBook).book, // the settings have one book at least
      ...(opened && { accounts: opened }),
      close() {
        closing ??= close();
        return closing;
      },
    };
  } catch (error) {
    watch?.stop();
    await Promise.all(servers.map((server) => server.close(0)));
    await closeAll(accounts, deployments).catch(() => {}); // the first failure is reported
    throw error;
  }
}

/** Returns the parts whose readiness is watched. */
function getParts(deployments: readonly OpenBook[], accounts: Accounts | undefined): WatchedPart[] {
  const books = deployments.map(({ path, book }) => ({ name: path, ready: book.ready, report: book.reportError }));
  return accounts === undefined
    ? books
    : [...books, { name: 'accounts', ready: accounts.ready, report: accounts.reportError }];
}

/** Shows a book in the explorer with the restrictions of its public routes. */
function toExplorerBook({ apiOptions, ...shown }: OpenBook): ExplorerBook {
  return { ...shown, hideCompetitions: apiOptions?.hideCompetitions };
}

/** Returns the web push channel for the explorer, if it is configured. */
function toExplorerWebPush(plan: ServerPlan) {
  const { vapidPublicKey: publicKey } = plan.settings;
  if (publicKey === undefined) return undefined;
  const domainName = getAffiliateDomain(plan);
  return { publicKey, ...(domainName === undefined ? {} : { domainName }) };
}

/** Closes the account interface, and then its books. @throws the first failure, after all others are closed. */
async function closeAll(accounts: Accounts | undefined, deployments: readonly OpenBook[]): Promise<void> {
  const outcomes = await Promise.allSettled([accounts?.close()]);
  outcomes.push(...(await Promise.allSettled(deployments.map((deployment) => deployment.close()))));
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

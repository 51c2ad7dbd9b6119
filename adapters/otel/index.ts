import type { Api, Channel, OrderBook, OrderBookEvents } from 'intentbook';
import { assertKnownOptions, createRouteNames, requireFunctions } from '#internal';

/** Attributes of a span. */
export type SpanAttributes = Record<string, string | number | string[]>;

/** The part of OpenTelemetry's `Span` that is used. Declared by its shape, so that other hosts need no types of it. */
export interface Span {
  setAttributes(attributes: SpanAttributes): unknown;
  setStatus(status: { code: number; message?: string }): unknown;
  updateName(name: string): unknown;
  /** @param endTime - Milliseconds since 1970. Default: now. */
  end(endTime?: number): void;
}

/** Options of a span. */
export interface SpanOptions {
  /** Kind, as OpenTelemetry numbers it. */
  readonly kind?: number;
  readonly attributes?: SpanAttributes;
  /** Milliseconds since 1970. */
  readonly startTime?: number;
}

/** The part of OpenTelemetry's `Tracer` that is used. */
export interface Tracer {
  startSpan(name: string, options: SpanOptions): Span;
  startActiveSpan<T>(name: string, options: SpanOptions, work: (span: Span) => T): T;
}

/** Kinds of spans and the status "error", as the API of OpenTelemetry numbers them. */
const [SERVER, PRODUCER, ERROR] = [1, 3, 2];

/** A book whose work is traced. */
export interface TracedBook {
  /** Value of the attribute `intentbook.book`. */
  readonly name: string;
  readonly book: Pick<OrderBook, 'on' | 'off'>;
}

/**
 * Creates a span for each submission, recovery of signers, store operation and estimator query of a book. A span is
 * created when the work has ended, with the time at which it began. It is a child of the active span, such as the
 * request of `traceApi`. Store operations on a group of orders belong to the request whose order began the group.
 *
 * A book that is not traced creates no spans and measures no durations.
 *
 * @returns a function that ends the tracing.
 */
export function traceBook(tracer: Tracer, traced: TracedBook): () => void {
  requireFunctions('traceBook: tracer', tracer, ['startSpan']);
  assertKnownOptions('traceBook', traced, ['name', 'book']);
  const { name, book } = traced;
  requireFunctions('traceBook: book', book, ['on', 'off']);

  function record(title: string, ms: number, attributes: SpanAttributes, failed = false): void {
    const end = Date.now();
    const span = tracer.startSpan(`intentbook ${title}`, {
      startTime: end - ms,
      attributes: { 'intentbook.book': name, ...attributes },
    });
    if (failed) span.setStatus({ code: ERROR });
    span.end(end);
  }

  const stops: (() => void)[] = [];
  function listen<E extends keyof OrderBookEvents>(event: E, listener: OrderBookEvents[E]): void {
    book.on(event, listener);
    stops.push(() => book.off(event, listener));
  }

  listen('ordersSubmitted', ({ accepted, rejected, ms }) => {
    record('submit', ms, {
      'intentbook.orders.accepted': accepted,
      'intentbook.orders.rejected': rejected.length,
      'intentbook.codes': [...new Set(rejected)],
    });
  });
  listen('signersRecovered', ({ backend, signatures, ms }) => {
    record('recover signers', ms, { 'intentbook.backend': backend, 'intentbook.signatures': signatures });
  });
  listen('storeQueried', ({ operation, ms, failed }) => {
    record(`store ${operation}`, ms, { 'intentbook.operation': operation }, failed);
  });
  listen('estimatorQueried', ({ source, request, outcome, ms }) => {
    const attributes = { 'intentbook.request': request, 'intentbook.outcome': outcome };
    record(`estimate ${source}`, ms, attributes, outcome === 'failed');
  });
  return () => {
    for (const stop of stops) stop();
  };
}

/**
 * Wraps an HTTP interface: each request is an active span of kind "server", with the attributes of OpenTelemetry's HTTP
 * conventions. Its name is the method and the template of the path, such as `GET /api/v1/orders/{uid}`, or only the
 * method for a path that does not exist. In the path of another interface, addresses, UIDs and numbers are
 * placeholders. A status of 500 or above, and a request without a response, set the status "error". The body of an
 * event stream is not part of the span.
 */
export function traceApi(tracer: Tracer, api: Api): Api {
  requireFunctions('traceApi: tracer', tracer, ['startActiveSpan']);
  requireFunctions('traceApi: api', api, ['handle']);
  const routeNames = loadRouteNames();
  return {
    ...(api.handlesPath && { handlesPath: api.handlesPath.bind(api) }),
    handle: (request) =>
      runInSpan(tracer, request.method, SERVER, async (span) => {
        span.setAttributes({ 'http.request.method': request.method, 'url.path': request.path });
        const response = await api.handle(request);
        endRequest(span, request, response.status, await routeNames);
        return response;
      }),
  };
}

/** Runs work in an active span. A failure sets the status "error". */
function runInSpan<T>(tracer: Tracer, name: string, kind: number, work: (span: Span) => Promise<T>): Promise<T> {
  return tracer.startActiveSpan(name, { kind }, async (span) => {
    try {
      return await work(span);
    } catch (failure) {
      span.setStatus({ code: ERROR });
      throw failure;
    } finally {
      span.end();
    }
  });
}

type RouteNames = ReturnType<typeof createRouteNames>;

let loaded: Promise<RouteNames> | undefined;

/** Loads the templates of all routes when the first interface is traced, because the document is large. */
function loadRouteNames(): Promise<RouteNames> {
  loaded ??= import('intentbook/openapi').then(({ openApiDocument }) =>
    createRouteNames(Object.keys(openApiDocument({ standalone: true }).paths)),
  );
  return loaded;
}

function endRequest(
  span: Span,
  { method, path }: Parameters<Api['handle']>[0],
  status: number,
  getRouteName: RouteNames,
): void {
  span.setAttributes({ 'http.response.status_code': status });
  if (status >= 500) span.setStatus({ code: ERROR });
  // Any client can request any number of paths that do not exist, or whose parameters are not valid.
  const isServed = status < 400 && method !== 'OPTIONS';
  const route = getRouteName(path) ?? (isServed ? replaceParameters(path) : undefined);
  if (route === undefined) return;
  span.setAttributes({ 'http.route': route });
  span.updateName(`${method} ${route}`);
}

/** Returns a path with placeholders for addresses, hashes and numbers. */
function replaceParameters(path: string): string {
  return path
    .replace(/\/{2,}/g, '/')
    .replace(/\/0x[0-9a-f]+(-0x[0-9a-f]+)?(?=\/|$)/gi, '/{hex}')
    .replace(/\/\d+(?=\/|$)/g, '/{number}');
}

/** Wraps a notification channel: each delivery attempt is a span of kind "producer". */
export function traceChannel(tracer: Tracer, channel: Channel): Channel {
  requireFunctions('traceChannel: tracer', tracer, ['startActiveSpan']);
  requireFunctions('traceChannel: channel', channel, ['parseTarget', 'deliver']);
  const { name, signs, confirmation } = channel;
  // A spread of a class instance would lose its methods.
  return {
    name,
    signs,
    confirmation,
    parseTarget: (target) => channel.parseTarget(target),
    ...(channel.getHost && { getHost: channel.getHost.bind(channel) }),
    ...(channel.challenge && { challenge: channel.challenge.bind(channel) }),
    ...(channel.invite && { invite: channel.invite.bind(channel) }),
    ...(channel.start && { start: channel.start.bind(channel) }),
    ...(channel.stop && { stop: channel.stop.bind(channel) }),
    deliver: (delivery, call) =>
      runInSpan(tracer, `intentbook deliver ${channel.name}`, PRODUCER, async (span) => {
        span.setAttributes({ 'intentbook.channel': channel.name, 'intentbook.delivery': delivery.id });
        const result = await channel.deliver(delivery, call);
        span.setAttributes({ 'intentbook.status': result.status });
        if ('error' in result) span.setStatus({ code: ERROR, message: result.error });
        return result;
      }),
  };
}

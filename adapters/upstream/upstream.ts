import type {
  Address,
  Hex,
  Upstream,
  UpstreamClass,
  UpstreamContext,
  UpstreamPage,
  UpstreamQuote,
  UpstreamRead,
  UpstreamWrite,
} from 'intentbook';
import { UPSTREAM_CLASSES } from 'intentbook';
import { assertKnownOptions, chainBySegment, deployment, type Environment, parseHex } from '#internal';
import { createUpstreamClock, type UpstreamClock } from './clock.ts';
import type { CallResult, Connection, Request, Session, TimedResult } from './connection.ts';
import { createConnection } from './connection.ts';
import { ACCESS_OPTIONS, parseAccess, type UpstreamAccessOptions } from './options.ts';
import { isObject, parseElements, parseOrders, parseRowUid, parseTrades } from './parse-order.ts';
import { toQuote } from './quote.ts';
import { streamUpstreamQuotes } from './quote-stream.ts';

/** Options of another order book over HTTP. */
export interface OrderBookUpstreamOptions extends UpstreamAccessOptions {
  /**
   * Base URLs that are read in this order while the first one fails. They get no key and none of `headers`. Writes and
   * quotes always use `url`. Default: none.
   */
  readonly readFallbacks?: readonly string[];
}

/** Maximum number of UIDs of one request. */
const MAX_UIDS = 128;

/**
 * Creates the access to another order book over the HTTP interface of production: the production order book, or another
 * intentbook.
 *
 * Requests are spaced by a budget for each host and key. After 402, 429, 503, a redirect, or a 401 or 403 without an
 * error code, calls of the class are paused for `Retry-After`, at most 600 s; without it for 60 s, 120 s and so on up
 * to 600 s. After that, one call is sent as a probe. Redirects are not followed, and responses have at most 32 MiB.
 *
 * @throws TypeError if an option is unknown or malformed.
 */
export function orderBookUpstream(options: OrderBookUpstreamOptions): Upstream {
  const caller = 'orderBookUpstream';
  assertKnownOptions(caller, options, [...ACCESS_OPTIONS, 'readFallbacks']);
  const { readFallbacks = [], apiKey: _apiKey, headers: _headers, ...common } = options;
  if (!Array.isArray(readFallbacks)) throw new TypeError(`${caller}: readFallbacks must be a list of URLs`);
  const main = createConnection(parseAccess(caller, options));
  const fallbacks = readFallbacks.map((url) => createConnection(parseAccess(caller, { ...common, url })));
  let clock: UpstreamClock | undefined;
  let session: (Session & { readonly controller: AbortController }) | undefined;

  const shift = () => clock?.correction ?? 0;

  function getSession(): Session {
    if (session === undefined) throw new Error(`${caller}: open() must be called first`);
    return session;
  }

  const { send, write, read } = createRequests([main, ...fallbacks], getSession, shift);

  return {
    name: main.host,
    readRate: main.access.limits.rates.read,

    createClock(host) {
      clock = createUpstreamClock(host, () => main.measured);
      return clock.time;
    },

    open(context: UpstreamContext) {
      assertSameBook(main.access.service.base, context.chainId, context.settlementContract);
      session?.controller.abort();
      const controller = new AbortController();
      session = { ...(clock?.attach(context) ?? context), controller, closed: controller.signal };
    },

    close() {
      session?.controller.abort();
    },

    submitOrder: (order) =>
      write({ method: 'POST', path: 'api/v1/orders', body: order }, (body) => {
        const uid = parseHex(body, 56);
        if (uid !== undefined) return { status: 'accepted', uid };
        return { status: 'unknown', reason: 'the response has no UID' };
      }),

    cancelOrders: (request) => write({ method: 'DELETE', path: 'api/v1/orders', body: request }, toConfirmation),

    cancelOrder: (uid, request) =>
      write({ method: 'DELETE', path: `api/v1/orders/${uid}`, body: request }, toConfirmation),

    putAppData: (hash, fullAppData) =>
      write({ method: 'PUT', path: `api/v1/app_data/${hash}`, body: { fullAppData } }, toConfirmation),

    async quote(body, { signal } = {}) {
      return toQuote(await send(main, { ...QUOTE, path: 'api/v1/quote', body, signal }));
    },

    quotes(body, { signal } = {}): AsyncIterable<UpstreamQuote> {
      return streamUpstreamQuotes(main, getSession(), { ...QUOTE, path: 'api/v1/quote/stream', body, signal });
    },

    async getOrders(uids) {
      const unique = [...new Set(uids)];
      if (unique.length > MAX_UIDS) {
        return { status: 'failed', reason: `at most ${MAX_UIDS} orders can be read at once, got ${unique.length}` };
      }
      if (unique.length === 0) {
        return { status: 'read', value: [], startedAt: getSession().clock.now() + shift(), host: main.host };
      }
      return read({ path: 'api/v1/orders/by_uids', body: unique }, (rows) => parseElements(rows, unique));
    },

    listOrders(owner, page) {
      return read({ path: `api/v1/account/${owner}/orders`, query: toQuery(page) }, (rows) => {
        return { orders: parseOrders(rows), rows: rows.map(parseRowUid) };
      });
    },

    listTrades(of, page) {
      const filter: Record<string, Hex> = 'owner' in of ? { owner: of.owner } : { orderUid: of.uid };
      return read({ path: 'api/v2/trades', query: { ...filter, ...toQuery(page) } }, parseTrades);
    },

    async nativePrice(token, { signal } = {}) {
      const path = `api/v1/token/${token}/native_price`;
      return toPrice(await send(main, { class: 'read', method: 'GET', path, signal }), main.host);
    },

    status() {
      const blocks = UPSTREAM_CLASSES.flatMap((name): [UpstreamClass, { until: number; reason: string }][] => {
        const block = main.getBlock(name);
        return block === undefined ? [] : [[name, { until: block.until + shift(), reason: block.reason }]];
      });
      return { paused: Object.fromEntries(blocks), failing: main.failing, clockSkew: main.measured?.skew };
    },
  };
}

function createRequests(
  [main, ...fallbacks]: readonly [Connection, ...Connection[]],
  getSession: () => Session,
  shift: () => number,
) {
  const waiting = new Map<string, Promise<TimedResult>>();

  /** Sends a request. Calls have the time of the host, and their results that of the book. */
  async function send(connection: Connection, request: Request): Promise<TimedResult> {
    const result = await connection.send(getSession(), request);
    const startedAt = result.startedAt + shift();
    if (result.outcome !== 'blocked') return { ...result, startedAt };
    return { ...result, startedAt, block: { ...result.block, until: result.block.until + shift() } };
  }

  /** Sends a write to the main host. */
  async function write(
    request: Omit<Request, 'class'>,
    parse: (body: unknown) => UpstreamWrite,
  ): Promise<UpstreamWrite> {
    const result = await send(main, { ...request, class: 'write' });
    switch (result.outcome) {
      case 'ok':
        return parse(result.body);
      case 'rejected':
        return result.rejection;
      case 'blocked':
        return result.block;
      case 'lost':
        return { status: 'unknown', reason: result.reason };
    }
  }

  /** Sends a read, or joins an equal one that waits for its turn. */
  function join(connection: Connection, request: Omit<Request, 'class' | 'method'>): Promise<TimedResult> {
    const { path, query = {}, body } = request;
    const key = JSON.stringify([connection.access.service.base, path, query, body]);
    const running = waiting.get(key);
    if (running !== undefined) return running;
    const onSend = () => void waiting.delete(key);
    const method = body === undefined ? 'GET' : 'POST';
    const result = send(connection, { ...request, class: 'read', method, onSend }).finally(onSend);
    waiting.set(key, result);
    return result;
  }

  /** Reads from the first host that responds. */
  async function read<T>(
    request: Omit<Request, 'class' | 'method'>,
    parse: (rows: readonly unknown[]) => T | undefined,
  ): Promise<UpstreamRead<T>> {
    let first: UpstreamRead<T> | undefined;
    for (const connection of [main, ...fallbacks]) {
      const result = toRead(await join(connection, request), connection.host, parse);
      if (result.status === 'read') return result;
      first ??= result;
      if (getSession().closed.aborted) break;
    }
    return first as UpstreamRead<T>; // the first connection always exists
  }

  return { send, write, read };
}

/** Converts the result of a request for a price. The host rejects the token if it has no price. */
function toPrice(result: TimedResult, host: string): UpstreamRead<number | undefined> {
  const { startedAt } = result;
  if (result.outcome === 'rejected') return { status: 'read', value: undefined, startedAt, host };
  const price = result.outcome === 'ok' && isObject(result.body) ? result.body['price'] : undefined;
  if (typeof price === 'number') return { status: 'read', value: price, startedAt, host };
  if (result.outcome === 'blocked') return result.block;
  return { status: 'failed', reason: result.outcome === 'lost' ? result.reason : 'the response is not a price' };
}

/** The hosts of the protocol's own books. */
const ENVIRONMENTS_BY_HOST: Readonly<Record<string, Environment>> = {
  'api.cow.fi': 'production',
  'partners.cow.fi': 'production',
  'barn.api.cow.fi': 'staging',
  'partners.barn.cow.fi': 'staging',
};

/** @throws Error if a book of the protocol is of another chain or contract: each order would be for another domain. */
function assertSameBook({ host, pathname }: URL, chainId: number, settlementContract: Address): void {
  const environment = ENVIRONMENTS_BY_HOST[host];
  if (environment === undefined) return;
  const { settlement } = deployment(environment);
  if (settlement !== settlementContract)
    throw new Error(
      `${host} is the ${environment} book, of contract ${settlement}; this book is of ${settlementContract}`,
    );
  const chain = chainBySegment(pathname.split('/')[1] ?? '');
  if (chain?.chainId !== chainId)
    throw new Error(
      `${host}${pathname} is ${chain === undefined ? 'no book' : `of chain ${chain.chainId}`}; this book is of ${chainId}`,
    );
}

const QUOTE = { class: 'quote', method: 'POST' } as const;

/** Converts the response to a cancellation or a document: text in JSON. A page of a proxy is none. */
function toConfirmation(body: unknown): UpstreamWrite {
  if (typeof body === 'string') return { status: 'accepted' };
  return { status: 'unknown', reason: 'the response is no confirmation' };
}

function toRead<T>(
  result: CallResult & { readonly startedAt: number },
  host: string,
  parse: (rows: readonly unknown[]) => T | undefined,
): UpstreamRead<T> {
  switch (result.outcome) {
    case 'ok': {
      if (!Array.isArray(result.body)) return { status: 'failed', reason: 'the response is not a list' };
      const value = parse(result.body);
      // With the status: smaller reads of the same route may succeed.
      if (value === undefined) return { status: 'failed', reason: 'a row of the list cannot be read', httpStatus: 200 };
      return { status: 'read', value, startedAt: result.startedAt, host };
    }
    case 'rejected': {
      const { code, description, httpStatus } = result.rejection;
      return { status: 'failed', reason: `${code}: ${description}`, httpStatus };
    }
    case 'blocked':
      return result.block;
    case 'lost': {
      const { reason, httpStatus } = result;
      return httpStatus === undefined ? { status: 'failed', reason } : { status: 'failed', reason, httpStatus };
    }
  }
}

function toQuery({ offset, limit }: UpstreamPage) {
  return { offset: String(offset), limit: String(limit) };
}

import type { Order, OrderCancellations, OrderCreation, OrderTrade, QuoteRequest, QuoteResponse } from 'intentbook';
import { type ClientOptions, createSender, type QueryParameters, RequestError, toQuery } from './http.ts';
import { createMirror, type Mirror, type MirrorFilter, type MirrorOptions } from './mirror.ts';

/** Filters and paging of a list of orders. */
export interface ListOrdersQuery {
  readonly owner?: string;
  readonly status?: string;
  readonly sellToken?: string;
  readonly buyToken?: string;
  /** 1 to 1000. Default: 10. */
  readonly limit?: number;
  readonly cursor?: string;
}

/** A client of the HTTP interface of a book. Methods throw a `RequestError` for an error response. */
export interface OrderBookClient {
  /** Submits a signed order. @returns Its UID. */
  submit(order: OrderCreation): Promise<string>;
  /** Returns an order, or undefined if it does not exist. */
  get(uid: string): Promise<Order | undefined>;
  /** Lists orders by page, newest first. `next` is the cursor of the next page. */
  list(query?: ListOrdersQuery): Promise<{ readonly orders: readonly Order[]; readonly next: string | undefined }>;
  /** Cancels orders: all or none. */
  cancel(cancellation: OrderCancellations): Promise<void>;
  /** Requests a quote. */
  quote(request: QuoteRequest): Promise<QuoteResponse>;
  /** Lists the trades of an order or an account. */
  trades(query: { readonly orderUid: string } | { readonly owner: string }): Promise<readonly OrderTrade[]>;
  /**
   * Keeps a local copy of orders and reconnects automatically. Resolves when all orders are read: while the server
   * cannot be reached, it retries until the signal is aborted.
   */
  mirror(filter?: MirrorFilter, options?: MirrorOptions): Promise<Mirror>;
}

/**
 * Creates a client, for browsers, Node.js and other runtimes with `fetch`.
 *
 * ```ts
 * const client = createClient('http://127.0.0.1:8080');
 * const mirror = await client.mirror({ pair: [weth, usdc] });
 * mirror.onChange(() => console.log(mirror.orders.size));
 * ```
 *
 * @param url - URL of the book, without `/api/v1`. A user and a password in it are sent as a Basic `Authorization`
 * header only.
 * @throws TypeError if `url` is not an http or https URL or has a query, or if an option is unknown or malformed.
 */
export function createClient(url: string, options: ClientOptions = {}): OrderBookClient {
  const sender = createSender(url, options);
  const { request } = sender;

  async function list(query: QueryParameters, signal?: AbortSignal) {
    const { body, link } = await request<Order[]>('GET', `orders?${toQuery(query)}`, undefined, signal);
    const next = /[?&]cursor=([^&>]*)/.exec(link ?? '')?.[1];
    return { orders: body, next: next === undefined ? undefined : decodeURIComponent(next) };
  }

  async function* listPages(query: QueryParameters, signal: AbortSignal) {
    let cursor: string | undefined;
    do {
      const page = await list({ ...query, cursor }, signal);
      cursor = page.next;
      yield page.orders;
    } while (cursor !== undefined);
  }

  return {
    submit: async (order) => (await request<string>('POST', 'orders', order)).body,
    async get(uid) {
      try {
        return (await request<Order>('GET', `orders/${encodeURIComponent(uid)}`)).body;
      } catch (error) {
        if (isUnknownOrder(error)) return undefined;
        throw error;
      }
    },
    list: (query = {}) => list({ ...query }),
    async cancel(cancellation) {
      await request('DELETE', 'orders', cancellation);
    },
    quote: async (terms) => (await request<QuoteResponse>('POST', 'quote', terms)).body,
    trades: async (query) => (await request<OrderTrade[]>('GET', `trades?${toQuery({ ...query })}`)).body,
    mirror: (filter = {}, mirrorOptions = {}) => createMirror(sender, listPages, filter, options, mirrorOptions),
  };
}

/** Returns whether the server does not have an order. A proxy and a server at another path respond with 404 as well. */
function isUnknownOrder(error: unknown): boolean {
  if (!(error instanceof RequestError)) return false;
  return error.code === 'NotFound' && Object(error.data).path === undefined; // `path`: there is no such route
}

import type { Order, OrderCancellations, OrderCreation, OrderTrade, QuoteRequest, QuoteResponse } from 'intentbook';
import { type AccountClient, type AccountClientOptions, type AccountWallet, createAccountClient } from './account.ts';
import {
  type ClientOptions,
  createSender,
  getNextCursor,
  orUndefined,
  type QueryParameters,
  type RequestError,
  toBody,
  toQuery,
} from './http.ts';
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
  /**
   * Creates a client of the account interface, for one account.
   *
   * @param wallet - The account with its `signTypedData`, such as an account of viem; or its address, for reads.
   * @throws TypeError if the account, its address or an option is malformed.
   */
  account(wallet: string | AccountWallet, options?: AccountClientOptions): AccountClient;
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
    const { body, link } = await request<Order[]>('GET', `orders?${toQuery(query)}`, { signal });
    return { orders: body, next: getNextCursor(link) };
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
    submit: async (order) => (await request<string>('POST', 'orders', toBody('order', order))).body,
    get: (uid) => orUndefined(request<Order>('GET', `orders/${encodeURIComponent(uid)}`), isUnknownOrder),
    list: (query = {}) => list({ ...query }),
    async cancel(cancellation) {
      await request('DELETE', 'orders', toBody('cancellation', cancellation));
    },
    quote: async (terms) => (await request<QuoteResponse>('POST', 'quote', toBody('terms', terms))).body,
    trades: async (query) => (await request<OrderTrade[]>('GET', `trades?${toQuery({ ...query })}`)).body,
    mirror: (filter = {}, mirrorOptions = {}) => createMirror(sender, listPages, filter, options, mirrorOptions),
    account: (wallet, accountOptions) => createAccountClient(wallet, url, options, accountOptions),
  };
}

/** `path` in the values of an error: there is no such route. */
const isUnknownOrder = ({ code, data }: RequestError) => code === 'NotFound' && Object(data).path === undefined;

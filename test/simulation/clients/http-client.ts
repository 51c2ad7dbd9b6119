import type { ApiRequest, Order } from 'intentbook';
import type { SimulatedChain } from '../chain/chain.ts';
import type { Competitions } from '../chain/competitions.ts';
import { createRecord, solve } from '../chain/competitions.ts';
import type { AuctionCheck } from '../checks/auction-check.ts';
import type { ReadCheck } from '../checks/read-check.ts';
import type { Report } from '../checks/store-observer.ts';
import type { BookProcess } from '../machine/book-process.ts';
import type { Pool } from '../orders/pool.ts';
import type { PoolOrder } from '../orders/pool-order.ts';
import type { Operation } from '../plan/plan.ts';

/** An operation of a client of the HTTP interface. */
export type HttpOperation = Extract<Operation, { kind: 'http' | 'auction' | 'compete' | 'competition' }>;

/**
 * A client of the HTTP interfaces of all processes. It keeps responses like a cache between clients and servers, and
 * revalidates them by their entity tags at any process.
 */
export interface HttpClient {
  run(operation: HttpOperation, at: BookProcess): Promise<string>;
}

export interface HttpClientContext {
  readonly pool: Pool;
  readonly chain: Pick<SimulatedChain, 'head'>;
  readonly reads: ReadCheck;
  readonly auctions: AuctionCheck;
  readonly competitions: Competitions;
  readonly report: Report;
}

interface CachedResponse {
  readonly etag: string;
  readonly body: string;
}

const AUCTION = '/api/v1/auction';

export function createHttpClient(context: HttpClientContext): HttpClient {
  const { pool, chain, reads, auctions, competitions, report } = context;
  const cache = new Map<string, CachedResponse>();
  /** Every body so far, by path and entity tag. */
  const bodies = new Map<string, string>();
  const decoder = new TextDecoder();

  /** Returns the body that the client sees, or the status of a failure. */
  async function get(path: string, { api }: BookProcess): Promise<{ readonly status: number; readonly body: string }> {
    const cached = cache.get(path);
    const request: ApiRequest = {
      method: 'GET',
      path,
      query: '',
      header: (name) => (name === 'if-none-match' ? cached?.etag : undefined),
      body: { type: 'none' },
    };
    const { status, headers, body } = await api.handle(request);
    const { etag } = headers;
    if (status === 304) {
      if (cached === undefined || etag !== cached.etag) report('entity tags', `304 with ${etag} for ${cached?.etag}`);
      return { status, body: cached?.body ?? '' };
    }
    const chunks = typeof body !== 'object' || Symbol.asyncIterator in body ? [] : [body].flat();
    const text = typeof body === 'string' ? body : decoder.decode(Buffer.concat(chunks));
    if (status !== 200) return { status, body: text };
    if (etag === undefined) report('entity tags', `${path} has no entity tag`);
    else {
      const key = `${path} ${etag}`;
      const known = bodies.get(key) ?? text;
      if (known !== text) report('entity tags', `${etag} identifies two bodies of ${path}: ${known} and ${text}`);
      bodies.set(key, text);
      cache.set(path, { etag, body: text });
    }
    return { status, body: text };
  }

  async function readOrder(n: number, at: BookProcess): Promise<string> {
    const { uid } = pool.orders[n] as PoolOrder; // indexes are those of the pool
    const end = reads.mark(at.process);
    const { status, body } = await get(`/api/v1/orders/${uid}`, at);
    const interval = end();
    if (status === 404) reads.checkRead(n, undefined, interval);
    else if (status < 400) reads.checkRead(n, JSON.parse(body) as Order, interval); // rendered from this type
    return String(status);
  }

  async function readAuction(at: BookProcess): Promise<string> {
    const end = auctions.begin(at);
    const { status, body } = await get(AUCTION, at);
    if (status >= 400) return String(status);
    end(body);
    const { id, orders } = JSON.parse(body) as { id: number; orders: unknown[] }; // checked above
    return `${status} ${id} ${orders.length}`;
  }

  /** Records that an order is part of a solution of the newest auction that the client knows. */
  async function compete(n: number, blocks: number, { book, process }: BookProcess): Promise<string> {
    const cached = cache.get(AUCTION);
    if (cached === undefined) return 'none';
    const { id, orders } = JSON.parse(cached.body) as { id: number; orders: { uid: string }[] }; // an auction
    // Most solutions have an order of the auction.
    const offered = n % 4 === 0 ? undefined : pool.byUid.get(orders[n % orders.length]?.uid ?? '');
    const order = offered ?? (pool.orders[n] as PoolOrder); // indexes are those of the pool
    const solution = solve(order, chain.head.number, chain.head.number + blocks);
    const acknowledge = competitions.add({ ...solution, auction: id, process: process.name });
    const { status } = await book.auctions.record(createRecord(id, order.uid, solution));
    acknowledge();
    return `${status} ${id}`;
  }

  return {
    async run(operation, at) {
      switch (operation.kind) {
        case 'http':
          return readOrder(operation.order, at);
        case 'auction':
          return readAuction(at);
        case 'compete':
          return compete(operation.order, operation.blocks, at);
        case 'competition':
          return competitions.read(at.book, at.process);
      }
    },
  };
}

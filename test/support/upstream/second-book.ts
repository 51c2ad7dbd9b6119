import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { OrderBook, OrderBookOptions } from 'intentbook';
import { createApi, createOrderBook, tokenBuckets } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { nodeHandler } from 'intentbook/node-http';
import { SEPOLIA } from '../orders.ts';

/** The book behind a proxy. */
export interface SecondBook {
  readonly url: string;
  readonly book: OrderBook;
  close(): Promise<void>;
}

/** The published limits of production: 5 submissions a second, and 100 reads a minute. */
const LIMITS = { writes: { perSecond: 5, burst: 10 }, reads: { perSecond: 100 / 60, burst: 100 } };

/** Starts a book with the profile of production. `isLimited`: with its rate limits too. */
export async function startSecondBook(
  options: Partial<OrderBookOptions> = {},
  { isLimited = false } = {},
): Promise<SecondBook> {
  const book = createOrderBook({ chainId: SEPOLIA, store: memoryStore(), profile: 'production', ...options });
  await book.start();
  const api = createApi(book, isLimited ? { limiter: tokenBuckets(LIMITS) } : {});
  const server = createServer(nodeHandler(api));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // of a TCP server
    book,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await book.close();
    },
  };
}

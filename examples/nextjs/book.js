import { createOrderBook } from 'intentbook';
import { fetchHandler } from 'intentbook/fetch';
import { memoryStore } from 'intentbook/memory';

async function createHandler() {
  const book = createOrderBook({ chainId: 11155111, store: memoryStore() });
  await book.start();
  process.once('SIGTERM', () => book.close()); // ends event streams, for which Next.js waits
  return fetchHandler(book, { prefix: '/sepolia' });
}

/** Next.js bundles the route and the instrumentation apart, and a hot reload evaluates them again. */
export function getHandler() {
  globalThis.bookHandler ??= createHandler();
  return globalThis.bookHandler;
}

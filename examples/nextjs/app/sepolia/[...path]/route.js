import { createOrderBook } from 'intentbook';
import { fetchHandler } from 'intentbook/fetch';
import { memoryStore } from 'intentbook/memory';

async function createHandler() {
  const book = createOrderBook({ chainId: 11155111, store: memoryStore() });
  await book.start();
  process.once('SIGTERM', () => book.close()); // ends event streams, for which Next.js waits
  return fetchHandler(book, { prefix: '/sepolia' });
}

async function handle(request) {
  // A hot reload evaluates this module again, and a store has one book.
  globalThis.bookHandler ??= createHandler();
  return (await globalThis.bookHandler)(request);
}

export const dynamic = 'force-dynamic';
export { handle as DELETE, handle as GET, handle as OPTIONS, handle as POST, handle as PUT };

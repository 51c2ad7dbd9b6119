import { createOrderBook } from 'intentbook';
import { fetchHandler } from 'intentbook/fetch';
import { memoryStore } from 'intentbook/memory';

/** Serves a book on Deno. */
export async function start(port) {
  const book = createOrderBook({ chainId: 11155111, store: memoryStore() });
  await book.start();
  const server = Deno.serve({ port, hostname: '127.0.0.1' }, fetchHandler(book));
  async function stop() {
    await book.close(); // ends event streams
    await server.shutdown();
  }
  return { server, stop };
}

if (import.meta.main) await start(8080);

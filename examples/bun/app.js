import { createOrderBook } from 'intentbook';
import { fetchHandler } from 'intentbook/fetch';
import { memoryStore } from 'intentbook/memory';

/** Serves a book on Bun. */
export async function start(port) {
  const book = createOrderBook({ chainId: 11155111, store: memoryStore() });
  await book.start();
  const server = Bun.serve({ port, hostname: '127.0.0.1', fetch: fetchHandler(book) });
  async function stop() {
    const stopped = server.stop(); // accepts no new connections
    await book.close(); // ends event streams
    await stopped;
  }
  return { server, stop };
}

if (import.meta.main) {
  const { server, stop } = await start(8080);
  console.log(server.url.href);
  process.once('SIGTERM', stop);
}

import { createOrderBook } from 'intentbook';
import { fetchHandler } from 'intentbook/fetch';
import { memoryStore } from 'intentbook/memory';

/** Serves a book on Deno. */
export async function start(port) {
  const book = createOrderBook({ chainId: 11155111, store: memoryStore() });
  await book.start();
  const server = Deno.serve({ port, hostname: '127.0.0.1' }, fetchHandler(book));
  async function stop() {
    const stopped = server.shutdown(); // accepts no new connections
    await book.close(); // ends event streams
    await stopped;
  }
  return { server, stop };
}

if (import.meta.main) {
  const { stop } = await start(8080);
  Deno.addSignalListener('SIGTERM', async () => {
    await stop();
    Deno.exit();
  });
}

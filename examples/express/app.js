import { realpathSync } from 'node:fs';
import express from 'express';
import { createOrderBook } from 'intentbook';
import { expressRouter } from 'intentbook/express';
import { memoryStore } from 'intentbook/memory';

/** Starts an application with a book at `/sepolia`. Returns its server and how to stop it. */
export async function start(port) {
  const book = createOrderBook({ chainId: 11155111, store: memoryStore() });
  await book.start();
  const app = express();
  app.get('/health', (_request, response) => response.json({ healthy: true }));
  app.use('/sepolia', expressRouter(book));
  const server = await new Promise((resolve, reject) => {
    // Express calls the function with an error if the port is in use.
    const listening = app.listen(port, '127.0.0.1', (error) => (error ? reject(error) : resolve(listening)));
  });
  async function stop() {
    const closed = new Promise((resolve) => server.close(resolve)); // no new connections
    await book.close(); // ends event streams
    server.closeIdleConnections();
    await closed;
  }
  return { server, book, stop };
}

if (import.meta.filename === realpathSync(process.argv[1] ?? '')) {
  const { stop } = await start(8080);
  console.log('http://127.0.0.1:8080/sepolia/api/v1/version');
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}

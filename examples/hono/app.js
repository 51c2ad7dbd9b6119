import { realpathSync } from 'node:fs';
import { Hono } from 'hono';
import { createOrderBook } from 'intentbook';
import { fetchHandler } from 'intentbook/fetch';
import { memoryStore } from 'intentbook/memory';

/** Creates an application with a book at `/sepolia`. */
export async function createApp() {
  const book = createOrderBook({ chainId: 11155111, store: memoryStore() });
  await book.start();
  const handler = fetchHandler(book, { prefix: '/sepolia' });
  const app = new Hono();
  app.get('/health', (context) => context.json({ healthy: true }));
  app.all('/sepolia/*', (context) => handler(context.req.raw));
  return { app, book };
}

if (import.meta.filename === realpathSync(process.argv[1] ?? '')) {
  const { serve } = await import('@hono/node-server');
  const { app, book } = await createApp();
  const server = serve({ fetch: app.fetch, port: 8080, hostname: '127.0.0.1' });
  process.once('SIGTERM', async () => {
    server.close();
    await book.close(); // ends event streams
    server.closeIdleConnections();
  });
}

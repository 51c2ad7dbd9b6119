/** The rules of an application: a token, and its own CORS headers. */
const RULES = `const isAllowed = (method, token) => method === 'OPTIONS' || token === 'Bearer host';
const CORS = {
  'access-control-allow-origin': 'https://host.example',
  'access-control-expose-headers': 'Link, ETag, Retry-After',
};
`;

/** A book, and the rules of the application. */
export const BOOK = `
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
const book = createOrderBook({ chainId: 11155111, store: memoryStore() });
await book.start();
${RULES}`;

/**
 * The same with the database of the application. SIGUSR2 submits two orders within transactions: the first one is
 * rolled back, the second one committed.
 */
const DATABASE_BOOK = `
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { createOrderBook } from 'intentbook';
import { sqliteStore } from 'intentbook/sqlite';
const folder = mkdtempSync(join(tmpdir(), 'intentbook-host-'));
process.once('exit', () => rmSync(folder, { recursive: true }));
const database = new Database(join(folder, 'application.sqlite'));
database.pragma('journal_mode = WAL');
database.pragma('synchronous = FULL');
database.exec('CREATE TABLE invoices (uid TEXT NOT NULL)');
const book = createOrderBook({ chainId: 11155111, store: sqliteStore(database), eip1271: 'accept-unverified' });
await book.start();
async function invoice(from, ending) {
  database.exec('BEGIN IMMEDIATE');
  const order = {
    from, sellToken: '0x' + '1'.repeat(40), buyToken: '0x' + '2'.repeat(40), receiver: null, sellAmount: '1000',
    buyAmount: '1000', validTo: Math.floor(Date.now() / 1000) + 3600, appData: '{}', feeAmount: '0', kind: 'sell',
    partiallyFillable: false, signingScheme: 'eip1271', signature: '0xabcd',
  };
  const { uid } = await book.orders.submit(order, { transaction: database });
  database.prepare('INSERT INTO invoices VALUES (?)').run(uid);
  database.exec(ending);
}
process.on('SIGUSR2', async () => {
  await invoice('0x' + 'aaaa'.repeat(10), 'ROLLBACK');
  await invoice('0x' + 'bbbb'.repeat(10), 'COMMIT');
});
${RULES}`;

export const withDatabase = (code: string) => code.replace(BOOK, () => DATABASE_BOOK);

/** Listens and stops as the guide describes it. */
export const SERVER = `
function run(server) {
  server.listen(0, '127.0.0.1', () => console.log('listening ' + server.address().port));
  process.once('SIGTERM', async () => {
    server.close();
    await book.close();
    server.closeIdleConnections?.();
  });
}
`;

/** A listener of node:http with compression, authentication and CORS. */
export const LISTENER = `
import compression from 'compression';
import { nodeHandler } from 'intentbook/node-http';
const handler = nodeHandler(book, { prefix: '/book' });
const compress = compression({ threshold: 0 });
const listener = (request, response) => compress(request, response, () => {
  for (const [name, value] of Object.entries(CORS)) response.setHeader(name, value);
  if (isAllowed(request.method, request.headers.authorization)) handler(request, response);
  else response.writeHead(401).end();
});
`;

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createOrderBook, systemClock } from 'intentbook';
import { migratePostgres, postgresStore } from 'intentbook/postgres';
import { expect, it, onTestFinished } from 'vitest';
import { account, SEPOLIA, signOrder } from '../support/orders.ts';
import { temporaryDatabase } from '../support/postgres.ts';
import { readPage } from './docs-pages.ts';
import { unpackHost } from './host.ts';

const [, recipe = ''] = /^```js function.js\n([\s\S]*?)^```$/m.exec(readPage('docs/guides/frameworks.md').text) ?? [];

/** The gateway of a function: it passes requests on. */
const GATEWAY = `
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { handler } from './function.mjs';
const server = createServer(async (incoming, outgoing) => {
  const { method, headers, url } = incoming;
  const body = method === 'POST' ? await buffer(incoming) : undefined;
  const response = await handler(new Request('http://function' + url, { method, headers, body }));
  outgoing.writeHead(response.status).end(Buffer.from(await response.arrayBuffer()));
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
`;

it('function: a server beside it emits and expires its orders while it is frozen', async () => {
  await using database = await temporaryDatabase();
  using host = unpackHost(['pg']);
  await migratePostgres({ url: database.url });
  writeFileSync(join(host.folder, 'function.mjs'), recipe);
  writeFileSync(join(host.folder, 'gateway.mjs'), GATEWAY);
  const env = { ...process.env, NODE_OPTIONS: '', POSTGRES_URL: database.url };
  const child = spawn(process.execPath, ['gateway.mjs'], {
    cwd: host.folder,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [port] = await once(createInterface(child.stdout), 'line');
  const url = `http://127.0.0.1:${port}/api/v1/orders`;

  // The function has the duties when it is frozen, because it was started first.
  let ahead = 0;
  const clock = { ...systemClock, now: () => Date.now() + ahead };
  const store = postgresStore({ url: database.url, connections: 2 });
  const server = createOrderBook({ chainId: SEPOLIA, store, clock });
  await server.start();
  const created = new Promise((resolve) => void server.on('orderCreated', ({ uid }) => resolve(uid)));
  const expired = new Promise((resolve) => void server.on('orderExpired', ({ uid }) => resolve(uid)));

  const body = JSON.stringify(await signOrder(account(1), { validTo: Math.floor(Date.now() / 1000) + 70 }));
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body });
  expect(response.status).toBe(201);
  const uid = await response.json();
  child.kill('SIGSTOP');
  expect(await created).toBe(uid);
  ahead = 50_000; // less than a step of the clock, after which a book expires no order for a minute
  expect(await expired).toBe(uid);
  child.kill('SIGCONT');
  const order = await (await fetch(`${url}/${uid}`)).json();
  expect(order).toMatchObject({ uid });
  child.kill('SIGKILL'); // the end of a function
  await server.close();
});

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import express5 from 'express';
import fastify from 'fastify';
import type { Store } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { expressRouter } from 'intentbook/express';
import { fastifyPlugin } from 'intentbook/fastify';
import { memoryStore } from 'intentbook/memory';
import { postgresStore } from 'intentbook/postgres';
import { sqliteStore } from 'intentbook/sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SEPOLIA } from '../../support/orders.ts';
import { temporarySchema } from '../../support/postgres.ts';
import { SUITE_QUOTES } from './cases/quoting.ts';
import { described } from './described.ts';
import type { Served } from './mounts.ts';
import { listen, MOUNTS } from './mounts.ts';
import { HTTP_CASES } from './suite.ts';

const folder = mkdtempSync(join(tmpdir(), 'intentbook-http-'));
const place = await temporarySchema();
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await place[Symbol.asyncDispose]();
});

const stores: readonly (readonly [name: string, make: () => Store])[] = [
  ['memory', memoryStore],
  ['sqlite', () => sqliteStore({ path: join(folder, 'orders.sqlite') })],
  ['postgres', () => postgresStore({ url: place.url, schema: place.schema, migrate: true })],
];
// Each mount over one store, and each store under one mount, because they are independent.
const pairs = MOUNTS.flatMap((mount, i) =>
  stores.filter((_, j) => i === 0 || j === 0).map((store) => ({ mount, store })),
);

describe.each(pairs)('$mount.name over $store.0', ({ mount, store: [, make] }) => {
  const book = createOrderBook({ chainId: SEPOLIA, store: make(), quotes: SUITE_QUOTES });
  const failures: unknown[] = [];
  book.on('failure', (failure) => failures.push(failure));
  let served: Served;
  beforeAll(async () => {
    await book.start();
    served = await mount.serve(book);
  });
  afterAll(async () => {
    await served.stop();
    await book.close();
    if (failures.length > 0) throw failures[0];
  });

  for (const { name, validates, run } of HTTP_CASES) {
    if (validates === undefined || validates !== mount.validates) test(name, () => run(described(served.fixture)));
  }

  test('leaves paths outside the interface to the host', async () => {
    if (served.origin === undefined || mount.name.startsWith('node')) return;
    const fetchText = async (path: string) => (await fetch(`${served.origin}${path}`)).text();
    expect(await fetchText('/host')).toBe('the host');
    expect(await fetchText('/elsewhere')).toBe('the 404 of the host');
  });
});

test('two books are served side by side in one application', async () => {
  const books = [1, 100].map((chainId) => createOrderBook({ chainId, store: memoryStore() }));
  const app = express5();
  const other = fastify({ forceCloseConnections: true });
  for (const book of books) {
    await book.start();
    app.use(`/${book.chainId}`, expressRouter(book));
    await other.register(fastifyPlugin, { prefix: `/${book.chainId}`, book });
  }
  const { origin, stop } = await listen(app, '');
  const origins = [origin, await other.listen({ port: 0, host: '127.0.0.1' })];
  for (const where of origins) {
    for (const { chainId } of books) {
      const answered = await (await fetch(`${where}/${chainId}/api/v1/version`)).text();
      expect(answered).toContain(`chain ${chainId} `);
    }
  }
  await stop();
  await other.close();
  for (const book of books) await book.close();
});

import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OrderBook, Store } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { fetchHandler } from 'intentbook/fetch';
import { memoryStore } from 'intentbook/memory';
import { nodeHandler } from 'intentbook/node-http';
import { sqliteStore } from 'intentbook/sqlite';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { SEPOLIA } from '../support/orders.ts';
import { HTTP_CASES } from './suite.ts';
import type { HttpWorld } from './world.ts';
import { answer, encode, socketWorld } from './world.ts';

const folder = mkdtempSync(join(tmpdir(), 'intentbook-http-'));
afterAll(() => rmSync(folder, { recursive: true }));

const now = () => Math.floor(Date.now() / 1000);

/** Serves a book and says where. */
interface Mount {
  readonly name: string;
  serve(book: OrderBook): Promise<{ world: HttpWorld; stop(): Promise<void> }>;
}

const nodeHttp = (prefix: string): Mount => ({
  name: `node:http below "${prefix}"`,
  async serve(book) {
    const server = createServer(nodeHandler(book, { prefix }));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    return {
      world: socketWorld(`http://127.0.0.1:${port}${prefix}`, now),
      stop: () =>
        new Promise((resolve) => {
          server.close(() => resolve());
          server.closeAllConnections();
        }),
    };
  },
});

const fetchServer = (prefix: string): Mount => ({
  name: `fetch below "${prefix}"`,
  async serve(book) {
    const handler = fetchHandler(book, { prefix });
    const world: HttpWorld = {
      now,
      async send(method, path, sent = {}) {
        const { headers, bytes } = encode(sent);
        const init = { method, headers, ...(bytes === undefined ? {} : { body: bytes }) };
        const response = await handler(new Request(`http://localhost${prefix}${path}`, init));
        return answer(response.status, (name) => response.headers.get(name) ?? undefined, await response.text());
      },
    };
    return { world, stop: async () => {} };
  },
});

const stores: readonly (readonly [name: string, make: () => Store])[] = [
  ['memory', memoryStore],
  ['sqlite', () => sqliteStore({ path: join(folder, 'orders.sqlite') })],
];
const mounts = [nodeHttp(''), nodeHttp('/a/b'), fetchServer(''), fetchServer('/sepolia')];

// Each mount over one store and each store under one mount: they do not know of each other.
const pairs = mounts.flatMap((mount, i) =>
  stores.filter((_, j) => i === 0 || j === 0).map((store) => ({ mount, store })),
);

describe.each(pairs)('$mount.name over $store.0', ({ mount, store: [, make] }) => {
  const book = createOrderBook({ chainId: SEPOLIA, store: make() });
  const faults: unknown[] = [];
  book.on('fault', (fault) => faults.push(fault));
  let served: Awaited<ReturnType<Mount['serve']>>;
  beforeAll(async () => {
    await book.start();
    served = await mount.serve(book);
  });
  afterAll(async () => {
    await served.stop();
    await book.close();
    if (faults.length > 0) throw faults[0];
  });

  for (const { name, run } of HTTP_CASES) test(name, () => run(served.world));
});

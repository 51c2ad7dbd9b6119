import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TradingSdk } from '@cowprotocol/cow-sdk';
import { ViemAdapter } from '@cowprotocol/sdk-viem-adapter';
import type { Store } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { serve } from 'intentbook/server';
import { sqliteStore } from 'intentbook/sqlite';
import { orderBookUpstream } from 'intentbook/upstream';
import { createPublicClient, custom } from 'viem';
import { sepolia } from 'viem/chains';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { quoteOptions } from '../../../apps/server/books/quote-options.ts';
import { SEPOLIA } from '../../support/orders.ts';
import { startSecondBook } from '../../support/upstream/second-book.ts';
import type { Mount } from '../http/mounts.ts';
import { nodeHttp, REACHABLE_MOUNTS } from '../http/mounts.ts';
import type { ClientFixture } from './cases.ts';
import { APP_CODE, CLIENT_CASES, clientOf, TRADER } from './cases.ts';

const folder = mkdtempSync(join(tmpdir(), 'intentbook-client-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A URL of a book for a client. */
interface Place {
  readonly name: string;
  open(): Promise<{ readonly url: string; close(): Promise<void> }>;
}

/** A book with the default estimators of the server. */
const mounted = (mount: Mount, name = mount.name, store: () => Store = memoryStore): Place => ({
  name,
  async open() {
    const quotes = await quoteOptions({ chain: 'sepolia' });
    const book = createOrderBook({ chainId: SEPOLIA, store: store(), ...(quotes && { quotes }) });
    await book.start();
    const { url, stop } = await mount.serve(book);
    return {
      url: url ?? '',
      async close() {
        await stop();
        await book.close();
      },
    };
  },
});

/** A book in front of another one, which has the prices. */
const inFront: Place = {
  name: 'a book in front of another one',
  async open() {
    const quotes = await quoteOptions({ chain: 'sepolia' });
    const second = await startSecondBook({ profile: 'specification', ...(quotes && { quotes }) });
    const budget = { read: 1e6, write: 1e6, quote: 1e6 };
    const upstream = orderBookUpstream({ url: second.url, budget });
    const book = createOrderBook({ chainId: SEPOLIA, store: memoryStore(), upstream });
    await book.start();
    const { url, stop } = await nodeHttp('').serve(book);
    return {
      url: url ?? '',
      async close() {
        await stop();
        await book.close();
        await second.close();
      },
    };
  },
};

const PLACES: readonly Place[] = [
  inFront,
  ...REACHABLE_MOUNTS.map((mount) => mounted(mount)),
  mounted(nodeHttp(''), 'node:http over SQLite', () => sqliteStore({ path: join(folder, 'book.sqlite') })),
  { name: 'the server with default settings', open: () => serve({ port: 0, db: ':memory:', chain: 'sepolia' }) },
  {
    name: 'the server with a book below a path',
    async open() {
      const books = [{ chain: 'mainnet' }, { chain: 'sepolia', path: '/test/sepolia' }];
      const { url, close } = await serve({ port: 0, books: books.map((book) => ({ ...book, db: ':memory:' })) });
      return { url: `${url}/test/sepolia`, close };
    },
  },
];

/** Creates the SDK. Any call to a node fails the test. */
function sdkOf(api: ClientFixture['api']): TradingSdk {
  const transport = custom({
    request({ method }: { method: string }) {
      return Promise.reject(new Error(`the SDK has called a node: ${method}`));
    },
  });
  const provider = createPublicClient({ chain: sepolia, transport });
  const adapter = new ViemAdapter({ provider, signer: TRADER } as never); // of another copy of viem's types
  const traderParameters = { chainId: SEPOLIA, appCode: APP_CODE, signer: TRADER as never };
  return new TradingSdk(traderParameters, { orderBookApi: api }, adapter);
}

test('client packages have the tested versions', () => {
  const version = (name: string) => createRequire(import.meta.url)(`${name}/package.json`).version;
  expect(version('@cowprotocol/sdk-viem-adapter')).toBe('0.3.17');
  expect(createRequire(import.meta.url).resolve('@cowprotocol/cow-sdk')).toContain('cow-sdk');
});

describe.each(PLACES)('published clients, unmodified, against $name', ({ open }) => {
  const original = globalThis.fetch;
  const requests: string[] = [];
  let opened: Awaited<ReturnType<Place['open']>>;
  let fixture: ClientFixture;

  beforeAll(async () => {
    opened = await open();
    const below = new URL(opened.url).pathname.replace(/\/$/, '');
    globalThis.fetch = async (...[input, init]) => {
      const response = await original(input, init);
      const path = new URL(String(input)).pathname.slice(below.length).split('/').slice(0, 4).join('/');
      requests.push(`${init?.method ?? 'GET'} ${path} ${response.status}`);
      return response;
    };
    const api = clientOf(opened.url);
    fixture = { api, sdk: sdkOf(api), sent: () => requests.splice(0) };
  });
  afterAll(async () => {
    globalThis.fetch = original;
    await opened.close();
  });

  for (const { name, run } of CLIENT_CASES) test(name, () => run(fixture));
});

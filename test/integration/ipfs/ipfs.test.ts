import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { DocumentSource, OrderBookOptions } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { ipfsGateway } from 'intentbook/ipfs';
import { memoryStore } from 'intentbook/memory';
import { serve } from 'intentbook/server';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { appDataHash } from '#internal';
import { toCid } from '../../../adapters/ipfs/index.ts';
import { createDocumentFinder } from '../../../src/app-data/find-document.ts';
import { manualClock } from '../../support/clock.ts';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';

const DOCUMENT = '{"appCode":"stored elsewhere","metadata":{}}';
const HASH = appDataHash(DOCUMENT);
const SIGNAL = { signal: new AbortController().signal, maxBytes: 1000 };

let server: Server;
let url: string;
let requests: string[];
let respond: () => { readonly status: number; readonly body: string };

beforeAll(async () => {
  server = createServer((request, response) => {
    requests.push(request.url ?? '');
    const { status, body } = respond();
    response.writeHead(status, status === 302 ? { location: '/' } : {}).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server
});
afterAll(() => server.close());
beforeEach(() => {
  requests = [];
  respond = () => ({ status: 200, body: DOCUMENT });
});

describe('IPFS gateway', () => {
  test('requests the CID of the hash, and keeps folder and query of the URL', async () => {
    expect(toCid('0x8af4e8c9973577b08ac21d17d331aade86c11ebcc5124744d621ca8365ec9424')).toBe(
      'bafkrwiek6tumtfzvo6yivqq5c7jtdkw6q3ar5pgfcjdujvrbzkbwl3eueq',
    );
    expect(await ipfsGateway(`${url}/gateway/?token=x`).find(HASH, SIGNAL)).toBe(DOCUMENT);
    expect(requests).toEqual([`/gateway/ipfs/${toCid(HASH)}?token=x`]);
  });

  test('returns undefined for a missing document and rejects for other responses', async () => {
    const gateway = ipfsGateway(url);
    respond = () => ({ status: 404, body: 'missing' });
    expect(await gateway.find(HASH, SIGNAL)).toBeUndefined();
    respond = () => ({ status: 502, body: '' });
    await expect(gateway.find(HASH, SIGNAL)).rejects.toThrow('responded with status 502');
    respond = () => ({ status: 302, body: '' });
    await expect(gateway.find(HASH, SIGNAL)).rejects.toThrow();
    respond = () => ({ status: 200, body: 'x'.repeat(1001) });
    expect(await gateway.find(HASH, SIGNAL)).toBeUndefined();
  });

  test('rejects a URL of another scheme', () => {
    expect(() => ipfsGateway('ipfs://node')).toThrow('url must be an http or https URL');
  });
});

describe('book with a document source', () => {
  let failures: unknown[];
  const closing: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
  });

  async function open(options: Partial<OrderBookOptions> = {}) {
    const documentSource = ipfsGateway(url);
    const book = createOrderBook({ chainId: SEPOLIA, store: memoryStore(), documentSource, ...options });
    failures = [];
    book.on('failure', (failure) => failures.push(failure));
    await book.start();
    closing.push(book.close);
    return book;
  }

  async function orderByHash(hash: string, seed = 1) {
    const signed = await signOrder(account(seed), { appData: DOCUMENT, validTo: Math.floor(Date.now() / 1000) + 600 });
    const { appDataHash: _, ...order } = { ...signed, appDataHash: undefined };
    return { ...order, appData: hash };
  }

  test('accepts an order by hash, stores its document and does not query it again', async () => {
    const book = await open();
    expect(await book.orders.submit(await orderByHash(HASH))).toMatchObject({ status: 'accepted' });
    expect(await book.appData.get(HASH)).toBe(DOCUMENT);
    expect(await book.orders.submit(await orderByHash(HASH, 2))).toMatchObject({ status: 'accepted' });
    expect(requests).toHaveLength(1);
  });

  test('rejects a document with another hash, and one that is too large', async () => {
    const book = await open({ limits: { maxAppDataSize: 20 } });
    expect(await book.orders.submit(await orderByHash(HASH))).toMatchObject({
      status: 'rejected',
      error: { code: 'InvalidAppData' },
    });
    respond = () => ({ status: 200, body: '{}' });
    const other = `0x${'12'.repeat(32)}`;
    expect(await book.orders.submit(await orderByHash(other))).toMatchObject({ error: { code: 'InvalidAppData' } });
    expect(String(failures.at(-1))).toContain('returned another or a larger document');
  });

  test('rejects with a retryable code while the source fails, and recovers', async () => {
    const book = await open();
    respond = () => ({ status: 500, body: '' });
    const order = await orderByHash(HASH);
    expect(await book.orders.submit(order)).toMatchObject({ error: { code: 'InternalServerError', retryable: true } });
    expect(failures).toHaveLength(1);
    respond = () => ({ status: 200, body: DOCUMENT });
    expect(await book.orders.submit(order)).toMatchObject({ status: 'accepted' });
  });

  test('caches a missing document, and shares concurrent queries', async () => {
    const book = await open();
    respond = () => ({ status: 404, body: '' });
    const order = await orderByHash(HASH);
    await Promise.all([1, 2, 3].map(() => book.orders.submit(order)));
    await book.orders.submit(order);
    expect(requests).toHaveLength(1);
  });

  test('does not prolong the time of a missing document when the clock is set back', async () => {
    const clock = manualClock();
    const asked: string[] = [];
    const source: DocumentSource = {
      async find(hash) {
        asked.push(hash);
        return undefined;
      },
    };
    const find = createDocumentFinder(source, {
      clock,
      timeout: 1000,
      maxBytes: 1000,
      onFailure: (failure) => failures.push(failure),
    });
    await find(HASH);
    clock.advance(59_999);
    clock.jump(-59_999);
    expect(await find(HASH)).toBeUndefined();
    expect(asked).toHaveLength(1);
    clock.advance(1);
    expect(await find(HASH)).toBeUndefined();
    expect(asked).toHaveLength(2);
  });

  test('rejects queries above the bound with a retryable code, and reports no failure of the source', async () => {
    const clock = manualClock();
    const queried: string[] = [];
    const reported: unknown[] = [];
    const source: DocumentSource = {
      find(hash) {
        queried.push(hash);
        return new Promise(() => {});
      },
    };
    const onFailure = (failure: unknown) => void reported.push(failure);
    const find = createDocumentFinder(source, { clock, timeout: 1000, maxBytes: 1000, onFailure });
    const codes: string[] = [];
    const pending = Array.from({ length: 4 + 64 + 1 }, (_, i) =>
      find(`0x${i.toString(16).padStart(64, '0')}`).catch(({ code }) => codes.push(code)),
    );
    await pending.at(-1);
    expect(codes).toEqual(['RateLimited']);
    clock.advance(1000);
    await Promise.all(pending);
    expect(codes.filter((code) => code === 'RateLimited')).toHaveLength(1 + 64);
    expect([queried.length, reported.length]).toEqual([4, 4]);
  });

  test('queries documents of the chain while clients fill their queue', async () => {
    const source: DocumentSource = {
      find: (hash) => (hash === HASH ? Promise.resolve(undefined) : new Promise(() => {})),
    };
    const find = createDocumentFinder(source, { clock: manualClock(), timeout: 1000, maxBytes: 1000, onFailure() {} });
    for (let i = 0; i < 4 + 64; i++) find(`0x${i.toString(16).padStart(64, '0')}`).catch(() => {});
    await expect(find(HASH)).rejects.toMatchObject({ code: 'RateLimited' });
    expect(await find(HASH, 'chain')).toBeUndefined();
  });

  test('does not query the source for a read of a document', async () => {
    const book = await open();
    expect(await book.appData.get(HASH)).toBeUndefined();
    expect(requests).toEqual([]);
  });
});

describe('server with an IPFS gateway', () => {
  test('accepts an order by hash, through the setting ipfsGateway', async () => {
    const served = await serve({ port: 0, db: ':memory:', ipfsGateway: url });
    const signed = await signOrder(account(1), { appData: DOCUMENT, validTo: Math.floor(Date.now() / 1000) + 600 });
    const body = JSON.stringify({ ...signed, appData: HASH, appDataHash: undefined });
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${served.url}/api/v1/orders`, { method: 'POST', headers, body });
    expect(response.status).toBe(201);
    await served.close();
  });
});

import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Hex } from 'intentbook';
import { fixedPrices } from 'intentbook/estimators';
import { serve } from 'intentbook/server';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { account, COW, signCancellation, signOrder, WETH } from '../../support/orders.ts';
import type { BadProxy } from '../../support/upstream/bad-proxy.ts';
import { startBadProxy } from '../../support/upstream/bad-proxy.ts';
import { startSecondBook } from '../../support/upstream/second-book.ts';
import { cleanUp, intentbook, scratch } from './process.ts';

const open: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});
afterAll(cleanUp);

const alice = account(1);
const later = () => Math.floor(Date.now() / 1000) + 3600;

async function start(settings: Record<string, unknown> = {}) {
  const other = await startSecondBook({
    quotes: { estimators: [fixedPrices({ [WETH]: '1', [COW]: '0.0001' })], gasPrice: '1000000000' },
  });
  open.push(other);
  const proxy: BadProxy = await startBadProxy({ target: other.url });
  open.push(proxy);
  const server = await serve({
    port: 0,
    db: ':memory:',
    upstream: proxy.url,
    upstreamReads: '1000',
    ...settings,
  } as never);
  open.push(server);
  const call = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: bodies of several routes
    return { status: response.status, body: (await response.json()) as any };
  };
  return { other, proxy, server, call };
}

/** Returns the URL of what is between this book and the other one. */
async function listen(listener: RequestListener): Promise<string> {
  const edge = createServer(listener).listen(0, '127.0.0.1');
  open.push({ close: async () => edge.close() });
  await once(edge, 'listening');
  return `http://127.0.0.1:${(edge.address() as AddressInfo).port}`; // of a TCP server
}

describe('a server in front of another book', () => {
  test('relays orders and cancellations, and shows their state', async () => {
    const { other, call } = await start();
    const created = await call('POST', '/api/v1/orders', await signOrder(alice, { validTo: later() }));
    expect(created.status).toBe(201);
    const uid = created.body as Hex;
    expect((await other.book.orders.get(uid))?.status).toBe('open');
    expect((await call('GET', `/api/v1/orders/${uid}/upstream`)).body).toMatchObject({ uid, final: false });
    const cancellation = { orderUids: [uid], ...(await signCancellation(alice, { orderUids: [uid] })) };
    expect((await call('DELETE', '/api/v1/orders', cancellation)).status).toBe(200);
    expect((await other.book.orders.get(uid))?.status).toBe('cancelled');
    expect((await call('GET', `/api/v1/orders/${uid}`)).body.status).toBe('cancelled');
  });

  test('cancels by a signature of one order', async () => {
    const { other, call } = await start();
    const { body: uid } = await call('POST', '/api/v1/orders', await signOrder(alice, { validTo: later() }));
    const cancellation = await signCancellation(alice, { orderUid: uid });
    expect((await call('DELETE', `/api/v1/orders/${uid}`, cancellation)).status).toBe(200);
    expect((await other.book.orders.get(uid))?.status).toBe('cancelled');
  });

  test('quotes like the other book, and links the order there', async () => {
    const { other, call } = await start();
    const request = {
      sellToken: WETH,
      buyToken: COW,
      from: alice.address,
      kind: 'sell',
      sellAmountBeforeFee: String(10n ** 18n),
    };
    const quoted = await call('POST', '/api/v1/quote', request);
    expect(quoted.status).toBe(200);
    const order = { sellAmount: String(10n ** 18n), buyAmount: '1', validTo: later() };
    const body = { ...(await signOrder(alice, order)), quoteId: quoted.body.id };
    const { body: uid } = await call('POST', '/api/v1/orders', body);
    expect((await other.book.orders.get(uid))?.quote).toBeDefined();
    expect((await call('GET', `/api/v1/orders/${uid}`)).body.quote).toBeDefined();
    const rejected = await call('POST', '/api/v1/quote', {
      ...request,
      buyToken: '0x0000000000000000000000000000000000000001',
    });
    expect(rejected.status).toBe(404); // the status of production
    expect(rejected.body.errorType).toBe('NoLiquidity');
  });

  test('responds 503 while the other book is blocked, stays ready, and reports it', async () => {
    const { proxy, call } = await start();
    proxy.next('429', 'write');
    const refused = await call('POST', '/api/v1/orders', await signOrder(alice, { validTo: later() }));
    expect([refused.status, refused.body.errorType]).toEqual([503, 'UpstreamUnavailable']);
    const ready = await call('GET', '/ready');
    expect(ready.status).toBe(200);
    expect(JSON.stringify(ready.body)).toMatch(/"upstream":"write: /);
  });

  test('finds out what became of an order whose answer was cut', async () => {
    const { proxy, call } = await start();
    proxy.next('cut-after', 'write');
    const order = await signOrder(alice, { validTo: later() });
    const created = await call('POST', '/api/v1/orders', order);
    expect([created.status, created.body.errorType]).toEqual([500, 'OutcomeUnknown']);
    const ready = await call('GET', '/ready');
    expect([ready.status, JSON.stringify(ready.body)]).toEqual([200, expect.stringMatching(/"upstream":"write: /)]);
    await expect
      .poll(async () => (await call('GET', `/api/v1/orders/${created.body.data.uid}`)).status, { timeout: 20_000 })
      .toBe(200);
  });

  test('imports the orders of an owner, with a key from a file', async () => {
    const keyFile = join(await scratch(), 'key');
    writeFileSync(keyFile, 'a-key\n');
    const other = await startSecondBook();
    open.push(other);
    const { uid } = (await other.book.orders.submit((await signOrder(alice, { validTo: later() })) as never)) as {
      uid: Hex;
    };
    const edge = await listen(async ({ headers, url }, response) => {
      if (headers['x-api-key'] !== 'a-key') return response.writeHead(403).end();
      const answer = await fetch(`${other.url}${url}`);
      return response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
    });
    const settings = { upstream: edge, upstreamKeyFile: keyFile, followedOwners: [alice.address] };
    const server = await serve({ port: 0, db: ':memory:', ...settings } as never);
    open.push(server);
    const read = async () => (await fetch(`${server.url}/api/v1/orders/${uid}`)).status;
    await expect.poll(read, { timeout: 20_000 }).toBe(200);
  });
});

describe('intentbook verify --against', () => {
  test('lists each difference, and ends with 1', async () => {
    const db = join(await scratch(), 'book.sqlite');
    const { other, server, call, proxy } = await start({ db });
    const { body: uid } = await call('POST', '/api/v1/orders', await signOrder(alice, { validTo: later() }));
    await server.close();
    const verify = () => intentbook(['verify', '--db', db, '--against', proxy.url, '--json']).ended;
    expect(JSON.parse((await verify()).stdout)).toMatchObject({ compared: 1, differences: [], missing: [] });
    await other.book.orders.cancel({ orderUids: [uid], ...(await signCancellation(alice, { orderUids: [uid] })) });
    const result = await verify();
    expect(result.code).toBe(1);
    expect(JSON.parse(result.stdout)).toMatchObject({
      differences: [{ uid, field: 'status', local: 'open', upstream: 'cancelled' }],
    });
  });

  test('sends the key of a file', async () => {
    const folder = await scratch();
    const db = join(folder, 'book.sqlite');
    const { server, call } = await start({ db });
    const { body: uid } = await call('POST', '/api/v1/orders', await signOrder(alice, { validTo: later() }));
    await server.close();
    const url = await listen(({ headers }, response) =>
      headers['x-api-key'] === 'a-key' ? response.end('[]') : response.writeHead(403).end(),
    );
    const verify = (...flags: string[]) =>
      intentbook(['verify', '--db', db, '--against', url, '--json', ...flags]).ended;
    expect((await verify()).stdout).toContain('status 403');
    const key = join(folder, 'key');
    writeFileSync(key, 'a-key\n');
    expect(JSON.parse((await verify('--against-key-file', key)).stdout)).toMatchObject({ missing: [uid] });
    const without = await intentbook(['verify', '--db', db, '--against-key', 'a-key']).ended;
    expect([without.code, without.stderr]).toEqual([2, expect.stringContaining('--against-key requires --against')]);
  });

  test('ends with the reason if the other book cannot be read', async () => {
    const db = join(await scratch(), 'book.sqlite');
    const { server, call, proxy } = await start({ db });
    await call('POST', '/api/v1/orders', await signOrder(alice, { validTo: later() }));
    await server.close();
    const verify = (url: string) => intentbook(['verify', '--db', db, '--against', url]).ended;
    proxy.next('403', 'read');
    const { host } = new URL(proxy.url);
    expect(await verify(proxy.url)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`${host} cannot be read: responded with status 403`),
    });
    await proxy.close();
    expect(await verify(proxy.url)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`${host} cannot be read: no response: ECONNREFUSED`),
    });
  });
});

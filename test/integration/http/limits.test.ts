import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Api, ApiOptions, ApiRequest, Limiter } from 'intentbook';
import { createApi, createOrderBook, OrderBookError, tokenBuckets } from 'intentbook';
import { createAccountApi, createAccounts } from 'intentbook/accounts';
import { fetchHandler } from 'intentbook/fetch';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { nodeHandler } from 'intentbook/node-http';
import { serve } from 'intentbook/server';
import { afterEach, describe, expect, test } from 'vitest';
import { scriptedChain } from '../../support/chain.ts';
import { manualClock } from '../../support/clock.ts';
import { account, signOrder } from '../../support/orders.ts';
import { answering, hanging, quotesFixture, SELL } from '../../unit/quotes/quotes-fixture.ts';
import { MISSING_UID, ORDERS, rejected } from './case.ts';
import { answer, directFixture } from './http-fixture.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A book with a burst of 3 reads and 1 write. */
async function limited(options: ApiOptions = {}) {
  const clock = manualClock();
  const book = createOrderBook({ chainId: 11155111, store: memoryStore(), clock });
  const failures: unknown[] = [];
  book.on('failure', (failure) => failures.push(failure));
  await book.start();
  closing.push(() => book.close());
  const limiter = tokenBuckets({ reads: { perSecond: 1, burst: 3 }, writes: { perSecond: 0.1, burst: 1 }, clock });
  const api = createApi(book, { limiter, probes: true, ...options });
  return { api, book, clock, failures, fixture: directFixture(api, () => 0) };
}

/** Sends a request from a client address. */
async function from(api: Api, remoteAddress: string, path = '/api/v1/version', forwarded?: string) {
  const request: ApiRequest = {
    method: 'GET',
    path,
    query: '',
    remoteAddress,
    body: { type: 'none' },
    header: (name) => (name === 'x-forwarded-for' ? forwarded : undefined),
  };
  return (await api.handle(request)).status;
}

describe('rate-limited interface', () => {
  test('returns 429 RateLimited with a wait, and accepts the request after it', async () => {
    const { fixture, clock } = await limited();
    for (let i = 0; i < 3; i++) expect((await fixture.send('GET', '/api/v1/version')).status).toBe(200);
    const rejection = await fixture.send('GET', '/api/v1/version');
    expect(rejected(rejection, 429, 'RateLimited')).toEqual({
      errorType: 'RateLimited',
      description: 'too many requests; try again in 1 s',
      data: { retryAfter: 1 },
    });
    expect(rejection.header('retry-after')).toBe('1');
    clock.advance(1000);
    expect((await fixture.send('GET', '/api/v1/version')).status).toBe(200);
  });

  test('limits writes more strictly than reads; by_uids is a read', async () => {
    const { fixture } = await limited();
    expect((await fixture.send('POST', ORDERS, { body: {} })).status).toBe(422);
    const rejection = await fixture.send('POST', ORDERS, { body: {} });
    rejected(rejection, 429, 'RateLimited');
    expect(rejection.header('retry-after')).toBe('10');
    for (let i = 0; i < 3; i++)
      expect((await fixture.send('POST', `${ORDERS}/by_uids`, { body: [] })).status).toBe(200);
    rejected(await fixture.send('GET', `${ORDERS}/${MISSING_UID}`), 429, 'RateLimited');
  });

  test('limits unknown routes too, but neither OPTIONS nor probes', async () => {
    const { fixture } = await limited();
    for (let i = 0; i < 3; i++) rejected(await fixture.send('GET', '/api/v1/nowhere'), 404, 'NotFound');
    rejected(await fixture.send('GET', '/api/v1/nowhere'), 429, 'RateLimited');
    rejected(await fixture.send('PATCH', ORDERS), 429, 'RateLimited');
    expect((await fixture.send('OPTIONS', ORDERS)).status).toBe(204);
    for (let i = 0; i < 9; i++) expect((await fixture.send('GET', '/live')).status).toBe(200);
    expect((await fixture.send('GET', '/ready')).status).toBe(200);
    expect((await fixture.send('GET', '/api/v1/ready')).status).toBe(429);
  });

  test('charges one token for a replacement of a foreign order, and three for a foreign signature', async () => {
    let tokens = 0;
    const add = (count: number) => {
      tokens += count;
    };
    const { fixture, clock } = await limited({
      limiter: {
        take(_client, _kind, count = 1) {
          add(count);
          return { status: 'admitted' };
        },
        charge: (_client, _kind, count) => add(count),
        open: () => ({ status: 'admitted', release() {} }),
      },
    });
    const [alice, bob] = [account(1), account(2)];
    const validTo = Math.floor(clock.now() / 1000) + 600;
    const uid = `0x${'ab'.repeat(32)}${bob.address.slice(2)}ffffffff`.toLowerCase();
    const appData = JSON.stringify({ metadata: { replacedOrder: { uid } } });
    for (const [body, status, code, cost] of [
      [await signOrder(alice, { validTo, appData }), 401, 'WrongOwner', 1],
      [{ ...(await signOrder(alice, { validTo })), from: bob.address }, 400, 'InvalidSignature', 3],
    ] as const) {
      tokens = 0;
      rejected(await fixture.send('POST', ORDERS, { body }), status, code);
      expect([code, tokens]).toEqual([code, cost]);
    }
  });

  test('gives each client its own bucket; neighbours in a /64 share one', async () => {
    const { api } = await limited();
    for (let i = 0; i < 3; i++) expect(await from(api, `2001:db8:0:1:${i}::1`)).toBe(200);
    expect(await from(api, '2001:db8:0:1:ffff::9')).toBe(429);
    expect(await from(api, '2001:db8:0:2::1')).toBe(200);
    expect(await from(api, '203.0.113.1')).toBe(200);
  });

  test('uses a header with another client address from a trusted proxy only', async () => {
    const { api } = await limited({ trustedProxies: ['10.0.0.0/8'] });
    const path = '/api/v1/version';
    for (let i = 0; i < 3; i++) expect(await from(api, '203.0.113.1', path, `1.1.1.${i}`)).toBe(200);
    expect(await from(api, '203.0.113.1', path, '1.1.1.9')).toBe(429);
    for (let i = 0; i < 3; i++) expect(await from(api, '10.0.0.1', path, `9.9.9.${i}, 198.51.100.1`)).toBe(200);
    expect(await from(api, '10.0.0.2', path, '198.51.100.1')).toBe(429);
    expect(await from(api, '10.0.0.2', path, '198.51.100.2')).toBe(200);
  });

  test('limits a client that identifies itself apart from its address, and passes on its rejection', async () => {
    const { fixture } = await limited({
      identifyClient({ header }) {
        const key = header('x-api-key');
        if (key === 'old') throw new OrderBookError('Forbidden', 'the key has expired');
        return key === undefined ? undefined : `key ${key}`;
      },
    });
    const send = (key?: string) =>
      fixture.send('GET', '/api/v1/version', key === undefined ? {} : { headers: { 'x-api-key': key } });
    for (let i = 0; i < 3; i++) expect((await send('a')).status).toBe(200);
    expect((await send('a')).status).toBe(429);
    expect((await send('b')).status).toBe(200);
    expect((await send()).status).toBe(200);
    rejected(await send('old'), 403, 'Forbidden');
  });

  test('does not limit in-process calls', async () => {
    const { fixture, book } = await limited();
    for (let i = 0; i < 4; i++) await fixture.send('GET', '/api/v1/version');
    for (let i = 0; i < 9; i++) expect(await book.orders.get(MISSING_UID)).toBe(undefined);
  });

  test('lets requests pass when the limiter fails, and reports the failure', async () => {
    const broken: Limiter = {
      take: () => Promise.reject(new Error('the counter is away')),
      open: () => {
        throw new Error('the counter is away');
      },
    };
    const { fixture, failures } = await limited({ limiter: broken });
    expect((await fixture.send('GET', '/api/v1/version')).status).toBe(200);
    expect(failures).toMatchObject([{ message: 'the counter is away' }]);
  });
});

describe('stream limit per client', () => {
  async function streaming() {
    const { book } = await quotesFixture({ estimators: [hanging('never')] });
    closing.push(() => book.close());
    const api = createApi(book, { limiter: tokenBuckets({ streams: 2 }) });
    const server = createServer(nodeHandler(api));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closing.push(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    // A listening server has an address.
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1/quote/stream`;
    const open = async (body: unknown = SELL) => {
      const client = new AbortController();
      const headers = { 'content-type': 'application/json' };
      const init = { method: 'POST', headers, body: JSON.stringify(body), signal: client.signal };
      return { response: await fetch(url, init), leave: () => client.abort() };
    };
    return { api, open };
  }

  test('counts a stream until it ends in any way', async () => {
    const { open } = await streaming();
    const first = await open();
    expect(first.response.status).toBe(200);
    expect((await open({})).response.status).toBe(400); // the request opened no stream
    await open();
    const { response } = await open();
    const text = await response.text();
    rejected(
      answer(response.status, (name) => response.headers.get(name) ?? undefined, text),
      429,
      'RateLimited',
    );
    expect(response.headers.get('retry-after')).toBe('5');
    first.leave();
    // The server detects it asynchronously.
    for (;;) if ((await open()).response.status === 200) break;
    expect((await open()).response.status).toBe(429);
  });

  test('does not count a completed stream while its connection stays open', async () => {
    const { book } = await quotesFixture({ estimators: [answering('good', 299n * 10n ** 15n)] });
    closing.push(() => book.close());
    const api = createApi(book, { limiter: tokenBuckets({ streams: 1 }) });
    for (let i = 0; i < 3; i++) {
      const { status, body } = await api.handle({
        method: 'POST',
        path: '/api/v1/quote/stream',
        query: '',
        remoteAddress: '127.0.0.1',
        header: (name) => (name === 'content-type' ? 'application/json' : undefined),
        body: { type: 'bytes', bytes: JSON.stringify(SELL) },
      });
      expect(status).toBe(200);
      for await (const _ of body as AsyncIterable<string>); // the status is that of a stream
    }
  });

  test('does not count a client that left before the response', async () => {
    const { api } = await streaming();
    const bytes = JSON.stringify(SELL);
    const sendRequest = (signal: AbortSignal) =>
      api.handle({
        method: 'POST',
        path: '/api/v1/quote/stream',
        query: '',
        signal,
        remoteAddress: '127.0.0.1',
        header: (name) => (name === 'content-type' ? 'application/json' : undefined),
        body: { type: 'bytes', bytes },
      });
    for (let i = 0; i < 5; i++) {
      const client = new AbortController();
      const { status } = await sendRequest(client.signal);
      expect(status).toBe(200);
      client.abort();
    }
  });
});

test('one limiter guards both interfaces, and each rejects in its own format', async () => {
  const limiter = tokenBuckets({ reads: { perSecond: 1, burst: 2 }, clock: manualClock() });
  const { api, book } = await limited({ limiter });
  const accounts = createAccounts({ books: [book], store: memoryAccountStore() });
  await accounts.start();
  closing.unshift(() => accounts.close());
  const accountFixture = directFixture(createAccountApi(accounts, { limiter }), () => 0);
  const path = `/accounts/0x${'ab'.repeat(20)}/notifications?limit=10`;
  expect((await accountFixture.send('GET', path)).status).toBe(200); // a page, so it costs one token
  expect(await from(api, '203.0.113.1')).toBe(200); // another client that does not wait
  const fixture = directFixture(api, () => 0);
  expect((await fixture.send('GET', '/api/v1/version')).status).toBe(200);
  rejected(await fixture.send('GET', '/api/v1/version'), 429, 'RateLimited');
  const rejection = await accountFixture.send('GET', path);
  expect([rejection.status, rejection.json()]).toEqual([429, { message: 'too many requests; try again in 1 s' }]);
  expect(rejection.header('retry-after')).toBe('1');
  expect(rejection.header('cache-control')).toBe('no-store');
});

test('balance streams count towards the stream limit of a client', async () => {
  const chain = scriptedChain({ balanceAndAllowance: { balance: 0n, allowance: 0n } });
  const book = createOrderBook({ chainId: 1, store: memoryStore(), chain });
  const accounts = createAccounts({ books: [book], store: memoryAccountStore() });
  await book.start();
  await accounts.start();
  closing.push(async () => {
    await accounts.close();
    await book.close();
  });
  const api = createAccountApi(accounts, { limiter: tokenBuckets({ streams: 1 }) });
  const open = (signal: AbortSignal) =>
    api.handle({
      method: 'GET',
      path: `/1/accounts/0x${'ab'.repeat(20)}/balances/sse`,
      query: `tokens=0x${'cd'.repeat(20)}`,
      signal,
      remoteAddress: '203.0.113.1',
      header: () => undefined,
      body: { type: 'none' },
    });
  const client = new AbortController();
  expect((await open(client.signal)).status).toBe(200);
  expect((await open(client.signal)).status).toBe(429);
  client.abort();
  expect((await open(new AbortController().signal)).status).toBe(200);
});

test('fetch handler accepts the client address of a request', async () => {
  const { api } = await limited();
  const handler = fetchHandler(api, { remoteAddress: (_, host) => host as string });
  const sendRequest = async (host: string) =>
    (await handler(new Request('http://localhost/api/v1/version'), host)).status;
  for (let i = 0; i < 3; i++) expect(await sendRequest('203.0.113.1')).toBe(200);
  expect(await sendRequest('203.0.113.1')).toBe(429);
  expect(await sendRequest('203.0.113.2')).toBe(200);
});

describe('standalone server', () => {
  const rateLimit = { reads: 1, writes: 1, streams: 1 };
  async function statuses(options: Parameters<typeof serve>[0], count: number) {
    const server = await serve({ port: 0, db: ':memory:', ...options });
    closing.push(server.close);
    const responses = Array.from({ length: count }, () => fetch(`${server.url}/api/v1/orders`, { method: 'POST' }));
    return (await Promise.all(responses)).filter(({ status }) => status === 429).length;
  }

  test('limits each client unless disabled', async () => {
    // A burst of fifty and ten per second: to admit all would take fifteen seconds.
    expect(await statuses({}, 200)).toBeGreaterThan(0);
    expect(await statuses({ rateLimit }, 30)).toBeGreaterThan(0);
    expect(await statuses({ rateLimit: 'off' }, 200)).toBe(0);
  });
});

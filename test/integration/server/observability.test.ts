import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { instrumentBooks, observeChain } from 'intentbook/prometheus';
import type { Exchange } from 'intentbook/server';
import { serve } from 'intentbook/server';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, test } from 'vitest';
import { createLog } from '../../../apps/cli/logging/log.ts';
import { account, signCancellation, signOrder } from '../../support/orders.ts';
import { scriptedChain } from '../../support/scripted-chain.ts';
import { proof, receiver, until } from '../channels/channel-fixture.ts';
import { addressOf, cleanUp, intentbook, scratch } from './process.ts';

afterEach(cleanUp);

const signed = (seed: number) => signOrder(account(seed), { validTo: Math.floor(Date.now() / 1000) + 3600 });
const post = (url: string, body: unknown, more: Record<string, string> = {}) =>
  fetch(`${url}/api/v1/orders`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...more },
    body: JSON.stringify(body),
  });

/** Returns the value of a metric with labels. */
function metricValue(text: string, name: string, labels: Record<string, string>): number | undefined {
  const line = text
    .split('\n')
    .find(
      (each) =>
        each.startsWith(`${name}{`) &&
        Object.entries(labels).every(([key, value]) => each.includes(`${key}="${value}"`)),
    );
  return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ')));
}

describe('server metrics', () => {
  test('count requests by route, orders by outcome, signatures, store calls and rejections, on their own port', async () => {
    const server = await serve({
      port: 0,
      metricsPort: 0,
      books: [{ chain: 'sepolia', store: memoryStore() }],
    });
    const url = `${server.url}/sepolia`;
    const order = await signed(1);
    const uid = (await (await post(url, order)).json()) as string;
    await post(url, order);
    await post(url, { ...order, feeAmount: '1' });
    for (const path of [`/api/v1/orders/${uid}`, '/api/v1/nowhere', '/api/v1/orders/0x12']) await fetch(url + path);

    const text = await (await fetch(`${server.metricsUrl}/metrics`)).text();
    const requests = (labels: Record<string, string>) => metricValue(text, 'intentbook_http_requests_total', labels);
    const route = '/sepolia/api/v1/orders';
    expect(requests({ method: 'POST', route, status: '201' })).toBe(1);
    expect(requests({ method: 'POST', route, status: '400' })).toBe(2);
    expect(requests({ method: 'GET', route: `${route}/{uid}`, status: '200' })).toBe(1);
    expect(requests({ method: 'GET', route: `${route}/{uid}`, status: '400' })).toBe(1);
    // Unknown values of clients share one label.
    expect(requests({ method: 'GET', route: 'other', status: '404' })).toBe(1);
    expect(metricValue(text, 'intentbook_http_rejections_total', { code: 'DuplicatedOrder' })).toBe(1);
    const book = '/sepolia';
    const outcome = (name: string) => metricValue(text, 'intentbook_orders_submitted_total', { book, outcome: name });
    expect([outcome('accepted'), outcome('DuplicatedOrder'), outcome('NonZeroFee')]).toEqual([1, 1, 1]);
    expect(metricValue(text, 'intentbook_signatures_recovered_total', { book })).toBeGreaterThanOrEqual(1);
    expect(metricValue(text, 'intentbook_store_seconds_count', { book, operation: 'orders.insert' })).toBe(2);
    expect(metricValue(text, 'intentbook_http_request_seconds_count', { method: 'POST', route })).toBe(3);
    expect(text).toMatch(/^intentbook_streams 0$/m);
    expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds /m);

    expect((await fetch(`${server.url}/metrics`)).status).toBe(404);
    expect((await fetch(`${server.metricsUrl}/api/v1/orders`)).status).toBe(404);
    // A scrape configuration can have parameters.
    expect((await fetch(`${server.metricsUrl}/metrics?module=orders`)).status).toBe(200);
    await server.close();
    await expect(fetch(`${server.metricsUrl}/metrics`)).rejects.toThrow();
  });
});

test('systemd is notified of the start, of a running event loop and of the stop', async () => {
  const folder = await scratch();
  const log = join(folder, 'log');
  writeFileSync(join(folder, 'systemd-notify'), `#!/bin/sh\necho "$1" >> ${log}\n`, { mode: 0o755 });
  const env = { NOTIFY_SOCKET: '/run/x', WATCHDOG_USEC: '20000', PATH: `${folder}:${process.env['PATH']}` };
  const server = intentbook(['serve', '--port', '0', '--db', ':memory:'], { env });
  await addressOf(server);
  const read = () => (existsSync(log) ? readFileSync(log, 'utf8') : '');
  await until(() => read().includes('WATCHDOG=1'));
  expect(read()).toContain('READY=1\n');
  server.child.kill('SIGTERM');
  expect(await server.ended).toMatchObject({ code: 0, stderr: '' });
  await until(() => read().includes('STOPPING=1\n'));
});

test('systemd is notified again after its program could not run, which is reported once', async () => {
  const folder = await scratch();
  const log = join(folder, 'log');
  const env = { NOTIFY_SOCKET: '/run/x', WATCHDOG_USEC: '20000', PATH: folder };
  const server = intentbook(['serve', '--port', '0', '--db', ':memory:'], { env });
  let errors = '';
  server.child.stderr?.on('data', (text: string) => {
    errors += text;
  });
  await until(() => errors.includes('systemd cannot be notified'));
  writeFileSync(join(folder, 'systemd-notify'), `#!/bin/sh\necho "$1" >> ${log}\n`, { mode: 0o755 });
  await until(() => existsSync(log) && readFileSync(log, 'utf8').includes('WATCHDOG=1'));
  server.child.kill('SIGTERM');
  const { stderr } = await server.ended;
  expect(stderr.match(/systemd cannot be notified/g)).toHaveLength(1);
});

test('the first request of a proxy that is not trusted is reported once', async () => {
  const notices: string[] = [];
  const options = { port: 0, db: ':memory:', onNotice: (text: string) => void notices.push(text) };
  for (const [trustedProxies, count] of [
    [['10.0.0.0/8'], 1],
    [['127.0.0.1'], 0],
  ] as const) {
    const server = await serve({ ...options, trustedProxies });
    for (let i = 0; i < 2; i++) await fetch(`${server.url}/live`, { headers: { 'x-forwarded-for': `192.0.2.${i}` } });
    await server.close();
    expect(notices.splice(0)).toHaveLength(count);
  }
});

test('show readiness, and failures of each route from 0 on', async () => {
  const books = [{ chain: 'sepolia', store: memoryStore() }];
  const server = await serve({ port: 0, metricsPort: 0, accounts: ':memory:', books });
  const text = await (await fetch(`${server.metricsUrl}/metrics`)).text();
  for (const book of ['/sepolia', 'accounts']) expect(metricValue(text, 'intentbook_ready', { book })).toBe(1);
  expect((await fetch(`${server.metricsUrl}/metrics`, { method: 'HEAD' })).status).toBe(200);
  const labels = { method: 'POST', route: '/sepolia/api/v1/orders', status: '500' };
  expect(metricValue(text, 'intentbook_http_requests_total', labels)).toBe(0);
  await server.close();
});

test('of failures and reorganisations are 0 before the first one, so that an alert notices it', async () => {
  await using book = createOrderBook({ chainId: 11155111, store: memoryStore() });
  const registry = new Registry();
  await instrumentBooks(registry, [{ name: '/', book }]);
  const text = await registry.metrics();
  for (const name of ['intentbook_failures_total', 'intentbook_reorganisations_total']) {
    expect(metricValue(text, name, { book: '/' })).toBe(0);
  }
});

test('of the chain exist in the process that indexes a book only', async () => {
  const chain = scriptedChain();
  const whole = memoryStore();
  let isFree = false;
  // The lease of another process, as in a store that several processes share.
  const acquire: typeof whole.leases.acquire = async (request) =>
    isFree || request.name !== 'follow the chain'
      ? whole.leases.acquire(request)
      : { status: 'taken', holder: 'another', expiresAt: 0 };
  await using book = createOrderBook({
    chainId: 11155111,
    store: { ...whole, leases: { ...whole.leases, acquire } },
    indexer: { sources: [chain.node('a')], pollInterval: 10 },
  });
  const registry = new Registry();
  const state = observeChain(book);
  await instrumentBooks(registry, [{ name: '/', book, chain: state }]);
  const read = async () => {
    const text = await registry.metrics();
    const names = ['intentbook_chain_up', 'intentbook_indexer_lag_blocks', 'intentbook_chain_head_timestamp_seconds'];
    return names.map((name) => metricValue(text, name, { book: '/' }));
  };
  expect(await read()).toEqual([0, Number.NaN, undefined]);
  await book.start();
  await expect.poll(read).toEqual([undefined, Number.NaN, undefined]);
  isFree = true;
  await expect.poll(read).toEqual([1, 0, expect.any(Number)]);
  isFree = false;
  await expect.poll(read).toEqual([undefined, Number.NaN, undefined]);
});

test('count undelivered notifications', async () => {
  await using target = await receiver();
  const book = { db: ':memory:', port: 0, metricsPort: 0, webhookAllow: ['127.0.0.1/32'] };
  const server = await serve(book);
  const metrics = async () => (await fetch(`${server.metricsUrl}/metrics`)).text();
  const counts = async () => {
    const text = await metrics();
    return ['pending', 'dead'].map((state) => metricValue(text, 'intentbook_deliveries', { state }));
  };
  expect(await counts()).toEqual([0, 0]);
  expect(metricValue(await metrics(), 'intentbook_notification_lag_entries', { book: '/' })).toBe(0);
  const body = JSON.stringify(await proof('webhook', target.url, ['order_cancelled']));
  const headers = { 'content-type': 'application/json' };
  const path = `${server.url}/accounts/${account(1).address}/subscriptions`;
  expect((await fetch(path, { method: 'POST', headers, body })).status).toBe(201);
  target.behave('hang');
  const { uid } = (await server.book.orders.submit(await signed(1))) as { uid: string };
  await server.book.orders.cancel({ orderUids: [uid], ...(await signCancellation(account(1), { orderUids: [uid] })) });
  await until(async () => (await counts())[0] === 1);
  target.behave('echo');
  await server.close();
});

test.each([
  [['127.0.0.1'], '203.0.113.7'],
  [['10.0.0.0/8'], '127.0.0.1'],
])('a logged request behind the proxies %j has the client %s', async (trustedProxies, client) => {
  const clients: unknown[] = [];
  const onExchange = ({ client: found }: Exchange) => void clients.push(found);
  const server = await serve({ port: 0, store: memoryStore(), trustedProxies, onExchange });
  await fetch(`${server.url}/live`, { headers: { 'x-forwarded-for': '198.51.100.1, 203.0.113.7' } });
  await server.close();
  expect(clients).toEqual([client]);
});

test('a hook that throws is reported, and changes no response', async () => {
  const failures: string[] = [];
  const fail = (name: string) => {
    throw new Error(name);
  };
  const server = await serve({
    port: 0,
    store: memoryStore(),
    onExchange: () => fail('exchange'),
    onOperatorAction: async () => fail('action'),
    onNotice: () => fail('notice'), // a header of a proxy that is not trusted
    onFailure(_path, failure) {
      failures.push(String(failure));
      fail('failure');
    },
  });
  const { status } = await post(server.url, await signed(3), { 'x-forwarded-for': '198.51.100.1' });
  const forbidden = await fetch(`${server.url}/restricted/deliveries`);
  await server.close();
  expect([status, forbidden.status]).toEqual([201, 403]);
  expect(failures.sort()).toEqual(['Error: action', 'Error: exchange', 'Error: exchange', 'Error: notice']);
});

describe('request id', () => {
  test("is the client's own if it is safe, and generated otherwise", async () => {
    const ids: string[] = [];
    const server = await serve({ port: 0, store: memoryStore(), onExchange: ({ id }) => void ids.push(id) });
    const idOf = async (headers: Record<string, string>) =>
      (await fetch(`${server.url}/live`, { headers })).headers.get('x-request-id');
    expect(await idOf({ 'x-request-id': 'trace-1:a.b' })).toBe('trace-1:a.b');
    const ours = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;
    for (const given of ['a b', '{"x":1}', 'x'.repeat(101)])
      expect(await idOf({ 'x-request-id': given })).toMatch(ours);
    expect(await idOf({})).toMatch(ours);
    expect(new Set(ids).size).toBe(5);
    await server.close();
  });

  test('is logged as JSON for each request, without its body', async () => {
    const args = ['serve', '--port', '0', '--db', ':memory:', '--log', 'json', '--metrics-port', '0'];
    const server = intentbook(args);
    const [, url = ''] = await server.printed(/"url":"(http:[^"]+)"/);
    await post(url, await signed(2), { 'x-request-id': 'mine' });
    await post(url, {});
    // Successful probes have no line.
    for (const path of ['/live', '/ready', '/ready?all', '/api/v1/ready']) {
      expect((await fetch(url + path)).status).toBe(200);
    }
    server.child.kill('SIGTERM');
    const { code, stdout, stderr } = await server.ended;
    expect([code, stderr]).toEqual([0, '']);
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.map(({ msg }) => msg)).toEqual(['ready', 'request', 'request', 'stopping', 'stopped']);
    expect(lines[0]).toMatchObject({ url, books: [{ path: '/', chain: 'sepolia', chainId: 11155111 }] });
    expect(lines[1]).toMatchObject({ requestId: 'mine', method: 'POST', path: '/api/v1/orders', status: 201 });
    expect(lines[2]).toMatchObject({ status: 422, errorType: 'InvalidBody' });
    expect(stdout).not.toContain('sellAmount');
  });

  test('is dropped from the log while its reader hangs, and counted', async () => {
    const lines: { msg: string; lines?: number }[] = [];
    const output = {
      writableLength: 0,
      write(line: string) {
        lines.push(JSON.parse(line));
        return true;
      },
    };
    const log = await createLog('1', output);
    log.notice('first');
    output.writableLength = 5_000_000;
    for (let i = 0; i < 3; i++) log.notice('dropped');
    output.writableLength = 0;
    log.notice('last');
    expect(lines.map(({ msg }) => msg.slice(0, 18))).toEqual(['first', 'lines were dropped', 'last']);
    expect(lines[1]).toMatchObject({ level: 40, lines: 3 });
  });

  test('is not logged in the text format', async () => {
    const server = intentbook(['serve', '--port', '0', '--db', ':memory:']);
    await post(await addressOf(server), {});
    server.child.kill('SIGTERM');
    expect((await server.ended).stdout).not.toContain('/api/v1/orders');
  });
});

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createOrderBook, type Hex } from 'intentbook';
import { postgresStore } from 'intentbook/postgres';
import { afterEach, expect, test } from 'vitest';
import { account, SEPOLIA, signCancellation, signOrder } from '../../support/orders.ts';
import { temporaryDatabase } from '../../support/postgres.ts';
import { startSecondBook } from '../../support/upstream/second-book.ts';
import { addressOf, cleanUp, intentbook, type Spawned } from '../server/process.ts';

afterEach(cleanUp);

const OWNERS = 4;
const ORDERS = process.env['TEST_LONG'] === undefined ? 24 : 240;
/** The default budget of submissions. */
const WRITES_PER_SECOND = 2;

/** A request that has reached the front of the other book. */
interface Passed {
  /** The process that has sent it: its contact in the `User-Agent`. */
  readonly sender: string;
  readonly call: string;
  readonly body: string;
}

/** Starts a front of a book. `receives` decides whether the book receives a request; `onResponse` runs after it has. */
async function startFront(target: string) {
  const passed: Passed[] = [];
  const hooks = { receives: async (_: Passed) => true, onResponse: async (_: Passed) => {} };
  const server = createServer(async (request, response) => {
    const { method = 'GET', url = '/', headers } = request;
    const sender = /\+(\w+)@/.exec(headers['user-agent'] ?? '')?.[1] ?? '';
    const entry = { sender, call: `${method} ${url}`, body: await text(request) };
    passed.push(entry);
    if (!(await hooks.receives(entry))) return void response.destroy();
    const content = method === 'GET' ? {} : { body: entry.body, headers: { 'content-type': 'application/json' } };
    const reply = await fetch(`${target}${url}`, { method, ...content });
    const body = await reply.text();
    await hooks.onResponse(entry);
    response.writeHead(reply.status, { 'content-type': 'application/json' }).end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // of a TCP server
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${port}`, passed, hooks, close };
}

test('processes of one store relay and notify once, although two of them are killed while they send', {
  timeout: 900_000,
}, async () => {
  const second = await startSecondBook({ limits: { maxOpenOrders: ORDERS } });
  const front = await startFront(second.url);
  await using database = await temporaryDatabase();
  const places = ['--postgres', database.url, '--accounts', database.url];
  expect((await intentbook(['migrate', ...places]).ended).code).toBe(0);
  const flags = ['--port', '0', '--chain', 'sepolia', ...places, '--upstream', front.url, '--relay', 'queue'];
  const running = new Map<string, Spawned>();
  const start = async (name: string) => {
    const server = intentbook(['serve', ...flags, '--upstream-contact', `${name}@example.org`]);
    running.set(name, server);
    return addressOf(server);
  };
  const kill = async (name: string) => {
    running.get(name)?.child.kill('SIGKILL');
    await running.get(name)?.ended;
  };

  // One process is killed after the other book has its order, one before.
  const inFlight = new Map<string, Passed>();
  const isOrder = ({ call }: Passed) => call === 'POST /api/v1/orders';
  const killFirst = async (name: string, entry: Passed) => {
    if (!isOrder(entry) || entry.sender !== name || inFlight.has(name)) return false;
    inFlight.set(name, entry);
    await kill(name);
    return true;
  };
  front.hooks.onResponse = async (entry) => void (await killFirst('a', entry));
  front.hooks.receives = async (entry) => !(await killFirst('b', entry));
  const urls = [await start('a'), await start('b'), await start('c')];
  const begin = performance.now();
  const validTo = Math.floor(Date.now() / 1000) + 3600;
  for (let i = 0; i < ORDERS; i++) {
    const order = await signOrder(account(1 + (i % OWNERS)), { validTo, sellAmount: String(10 ** 9 + i) });
    const body = JSON.stringify(order);
    const headers = { 'content-type': 'application/json' };
    // A killed process accepts nothing: its client sends the order to another one.
    for (let n = i; ; n++) {
      const response = await fetch(`${urls[n % 3]}/api/v1/orders`, { method: 'POST', headers, body }).catch(() => {});
      if (response === undefined) continue;
      const result: unknown = await response.json();
      // Its process may have been killed after the order was stored.
      const isStored = response.status === 201 || JSON.stringify(result).includes('DuplicatedOrder');
      expect([response.status, isStored]).toEqual([response.status, true]);
      break;
    }
  }
  await expect.poll(() => inFlight.size, { timeout: 120_000 }).toBe(2);
  await start('a');
  await start('b');

  const listThere = async () => (await second.book.orders.list({ limit: 1000 })).orders;
  await expect.poll(async () => (await listThere()).length, { timeout: 600_000, interval: 500 }).toBe(ORDERS);
  const book = createOrderBook({ chainId: SEPOLIA, store: postgresStore({ url: database.url }) });
  await book.start();
  const uids = (await listThere()).map(({ uid }) => uid).sort();
  const getRelays = async () => {
    const states = await Promise.all(
      uids.map(async (uid) => (await fetch(`${urls[2]}/api/v1/orders/${uid}/upstream`)).json()),
    );
    return states.filter((state) => (state as { relay?: unknown }).relay !== undefined);
  };
  await expect.poll(getRelays, { timeout: 300_000, interval: 500 }).toEqual([]);
  const seconds = (performance.now() - begin) / 1000;

  for (let owner = 1; owner <= OWNERS; owner++) {
    const { address } = account(owner);
    const orderUids = (await listThere()).filter((each) => each.owner === address.toLowerCase()).map(({ uid }) => uid);
    const cancellation = { orderUids, ...(await signCancellation(account(owner), { orderUids })) };
    const headers = { 'content-type': 'application/json' };
    const init = { method: 'DELETE', headers, body: JSON.stringify(cancellation) };
    expect((await fetch(`${urls[2]}/api/v1/orders`, init)).status).toBe(200);
  }
  const listNotified = async () => {
    const lists = await Promise.all(
      Array.from({ length: OWNERS }, async (_, i) => {
        const path = `/accounts/${account(i + 1).address}/notifications?limit=1000`;
        return (await (await fetch(`${urls[2]}${path}`)).json()) as { type: string; metadata: { orderUid: Hex } }[];
      }),
    );
    return lists.flat().map(({ type, metadata }) => `${type} ${metadata.orderUid}`);
  };
  await expect.poll(async () => (await listNotified()).length, { timeout: 60_000 }).toBeGreaterThanOrEqual(ORDERS);
  expect((await listNotified()).sort()).toEqual(uids.map((uid) => `order_cancelled ${uid}`));

  const expected = uids.flatMap((uid) => [`cancelled ${uid}`, `created ${uid}`]).sort();
  for (const each of [book, second.book])
    expect((await each.log.after(0, 10_000)).map(({ type, uid }) => `${type} ${uid}`).sort()).toEqual(expected);
  const sent = front.passed.filter(isOrder);
  const repeated = sent.filter(({ body }, i) => sent.findIndex((each) => each.body === body) !== i);
  // The order that never arrived is sent again, and no other one.
  expect(repeated.map(({ body }) => body)).toEqual([inFlight.get('b')?.body]);
  // A class begins with one request of each process that is not reserved among them.
  expect(sent.length).toBeLessThanOrEqual(WRITES_PER_SECOND * seconds + 5);
  await book.close();
  for (const name of ['a', 'b', 'c']) await kill(name);
  front.close();
  await second.close();
});

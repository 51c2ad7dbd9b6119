import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Order, OrderTrade } from 'intentbook';
import { serve } from 'intentbook/server';
import type { Hex } from 'viem';
import { encodeFunctionData } from 'viem';
import { foundry, sepolia } from 'viem/chains';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startAnvil } from '../../support/anvil.ts';
import { SETTLEMENT, SETTLEMENT_ABI, send } from '../../support/evm.ts';
import { signOrder } from '../../support/orders.ts';
import type { Fixture } from '../chain/evm-fixture.ts';
import { fundedTrader, startFixture } from '../chain/evm-fixture.ts';
import { settle } from '../chain/settle.ts';
import { addressOf, cleanUp, intentbook, scratch } from './process.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await startFixture();
});
afterAll(() => fixture[Symbol.asyncDispose]());
afterEach(cleanUp);

/** Sends a request to the fixture's node. */
function connect(url: string, method: string, onResponse: (response: IncomingMessage) => void) {
  return httpRequest(url, { method, headers: { 'content-type': 'application/json' } }, onResponse);
}

async function read<T>(url: string, path: string): Promise<T> {
  return (await (await fetch(`${url}/api/v1${path}`)).json()) as T; // asserted by the test
}

async function submit(url: string, choice: object): Promise<Hex> {
  const trader = await fundedTrader(fixture);
  const { sellToken, buyToken } = fixture;
  const validTo = Math.floor(Date.now() / 1000) + 3600;
  const order = { sellToken, buyToken, sellAmount: '1000', buyAmount: '400', validTo, ...choice };
  const response = await fetch(`${url}/api/v1/orders`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(await signOrder(trader, order)),
  });
  expect(response.status).toBe(201);
  return (await response.json()) as Hex; // a UID as a JSON string
}

/** Waits for asynchronous work of a server. */
async function until<T>(question: () => Promise<T>, isIt: (answer: T) => boolean): Promise<T> {
  for (;;) {
    const answer = await question();
    if (isIt(answer)) return answer;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const prices = () => ({ [fixture.sellToken]: 60n, [fixture.buyToken]: 100n });

describe('node that does not respond', () => {
  test('is reported once when it fails and when it responds again, with metrics from the start', async () => {
    const proxy = createServer((request, response) => {
      const upstream = connect(fixture.url, request.method ?? 'POST', (answer) => {
        response.writeHead(answer.statusCode ?? 502, { 'content-type': 'application/json' });
        answer.pipe(response);
      });
      request.pipe(upstream);
    });
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    const { port } = proxy.address() as AddressInfo; // a listening server has an address
    proxy.close();
    const rpc = ['--rpc', `http://127.0.0.1:${port}`, '--poll-interval', '20', '--metrics-port', '0'];
    const server = intentbook(['serve', '--port', '0', '--db', ':memory:', ...rpc]);
    const [, metricsUrl = ''] = await server.printed(/metrics +(http:\S+)/);
    await server.printed(new RegExp(`nodes +127.0.0.1:${port}`));
    const metric = async (name: string) => {
      const text = await (await fetch(metricsUrl)).text();
      return new RegExp(`^${name}\\{book="/"\\} (.*)$`, 'm').exec(text)?.[1];
    };
    expect(await metric('intentbook_chain_up')).toBe('0');
    expect(await metric('intentbook_indexer_lag_blocks')).toMatch(/nan/i);

    await once(proxy.listen(port, '127.0.0.1'), 'listening');
    await server.printed(/chain: connected; \d+ blocks are not indexed yet/);
    expect(await metric('intentbook_chain_up')).toBe('1');
    expect(Number(await metric('intentbook_indexer_lag_blocks'))).toBeGreaterThanOrEqual(0);
    server.child.kill('SIGTERM');
    const { stderr } = await server.ended;
    proxy.close();
    expect(stderr.match(/chain: node 1 at 127\.0\.0\.1 does not respond; retrying/g)).toHaveLength(1);
    expect(stderr.match(/ECONNREFUSED/g)).toHaveLength(1);
  });
});

describe('server with a node', () => {
  test('indexes the chain and fulfils settled orders', async () => {
    const db = join(await scratch(), 'orders.sqlite');
    const url = await addressOf(
      intentbook(['serve', '--port', '0', '--db', db, '--rpc', fixture.url, '--from-block', '0']),
    );
    const uid = await submit(url, {});
    await settle(fixture.client, [{ order: await read<Order>(url, `/orders/${uid}`) }], prices());
    const order = await until(
      () => read<Order>(url, `/orders/${uid}`),
      ({ status }) => status === 'fulfilled',
    );
    expect(order).toMatchObject({ executedSellAmount: '1000', executedBuyAmount: '600' });
    const ready = await read<{ checks: object }>(url, '/ready');
    expect(ready.checks).toEqual({ store: 'ok', chain: 'following', funds: 'on', contractSignatures: 'on' });
  });

  test('rejects orders without funds', async () => {
    await using server = closing(await serve({ port: 0, db: ':memory:', rpc: [fixture.url] }));
    const order = await signOrder(await fundedTrader(fixture), {
      sellToken: fixture.buyToken,
      buyToken: fixture.sellToken,
      validTo: Math.floor(Date.now() / 1000) + 3600,
    });
    const result = await server.book.orders.submit(order);
    expect(result).toMatchObject({ status: 'rejected', error: { code: 'InsufficientBalance' } });
  });

  test('uses the next node when the first is unreachable', async () => {
    const rpc = ['http://127.0.0.1:1', fixture.url];
    await using server = closing(await serve({ port: 0, db: ':memory:', rpc, fromBlock: 0 }));
    const uid = await submit(server.url, {});
    await settle(fixture.client, [{ order: await read<Order>(server.url, `/orders/${uid}`) }], prices());
    await until(
      () => read<Order>(server.url, `/orders/${uid}`),
      ({ status }) => status === 'fulfilled',
    );
    expect((await read<Order>(server.url, `/orders/${uid}`)).executedSellAmount).not.toBe('0');
  });

  test('rejects a node of another chain or without the contract, and names it', async () => {
    const start = (rpc: string) => serve({ port: 0, db: ':memory:', rpc: [rpc] });
    for (const [chain, message] of [
      [foundry, /chain 31337; this book is for chain 11155111/],
      [sepolia, new RegExp(`no contract at ${SETTLEMENT.toLowerCase()}`)],
    ] as const) {
      const { url, stop } = await startAnvil(chain);
      await expect(start(url)).rejects.toThrow(message);
      await stop();
    }
  });
});

test('readiness without a node lists the checks that are disabled', async () => {
  await using server = closing(await serve({ port: 0, db: ':memory:' }));
  const { checks } = await read<{ checks: object }>(server.url, '/ready');
  expect(checks).toEqual({ store: 'ok', chain: 'off', funds: 'off', contractSignatures: 'off' });
});

test('server killed repeatedly while it indexes the chain loses nothing and counts nothing twice', async () => {
  const db = join(await scratch(), 'orders.sqlite');
  const start = () => intentbook(['serve', '--port', '0', '--db', db, '--rpc', fixture.url, '--from-block', '1']);
  const first = start();
  const uid = await submit(await addressOf(first), { partiallyFillable: true, sellAmount: '100000' });
  const order = await read<Order>(await addressOf(first), `/orders/${uid}`);
  first.child.kill('SIGKILL');
  await first.ended;

  // More fills and presignatures than one request returns: an old part that is read by ranges, and a new one.
  const FILLS = 80;
  for (let i = 0; i < FILLS; i++) {
    await settle(fixture.client, [{ order, executed: 100n }], prices());
    const data = encodeFunctionData({ abi: SETTLEMENT_ABI, functionName: 'setPreSignature', args: [uid, i % 2 === 0] });
    await send(fixture.client, { to: SETTLEMENT, data, from: order.owner });
  }

  const inspect = <T>(sql: string): T => {
    const database = new Database(db, { readonly: true });
    const found = database.prepare(sql).pluck().get();
    database.close();
    return found as T; // the columns of the query
  };
  const chainEvents = () => inspect<number>('SELECT count(*) FROM chain_events');
  const seen: number[] = [];
  for (let round = 0; round < 5; round++) {
    const before = chainEvents();
    const server = start();
    // Kills the server after any progress, in any phase.
    await until(
      async () => chainEvents(),
      (count) => count > before,
    );
    server.child.kill('SIGKILL');
    await server.ended;
    seen.push(chainEvents());
    if (seen.at(-1) === 3 * FILLS) break;
  }
  expect(seen.some((count) => count > 0 && count < 3 * FILLS)).toBe(true); // the server was killed during the response

  const url = await addressOf(start());
  const filled = await until(
    () => read<Order>(url, `/orders/${uid}`),
    ({ executedSellAmount }) => executedSellAmount === String(100 * FILLS),
  );
  expect(filled.executedBuyAmount).toBe(String(60 * FILLS));
  const trades = await read<OrderTrade[]>(url, `/trades?orderUid=${uid}`);
  expect(new Set(trades.map(({ txHash }) => txHash)).size).toBe(FILLS);
  expect(trades).toHaveLength(FILLS);
  const logged = inspect<number>("SELECT count(*) FROM events WHERE type = 'traded'");
  expect(logged).toBe(FILLS);
});

function closing<T extends { close(): Promise<void> }>(server: T): T & AsyncDisposable {
  return { ...server, [Symbol.asyncDispose]: () => server.close() };
}

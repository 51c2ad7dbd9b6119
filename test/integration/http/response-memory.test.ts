import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Api, createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { nodeHandler } from 'intentbook/node-http';
import { afterEach, expect, test } from 'vitest';
import { createResponseMemory } from '../../../adapters/node-http/respond.ts';
import { completeOrder } from '../../support/complete-orders.ts';
import { SEPOLIA } from '../../support/orders.ts';

const closing: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function listening(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a listening server has an address
}

const KIB = 1024;

test('response memory is used again for a body that fits, after it was released', () => {
  const memory = createResponseMemory();
  const first = memory.allocate(100 * KIB);
  const second = memory.allocate(100 * KIB);
  expect(second.buffer).not.toBe(first.buffer);
  memory.release(first);
  const third = memory.allocate(110 * KIB);
  expect(third.buffer).toBe(first.buffer);
  expect(third).toHaveLength(110 * KIB);
});

test('response memory that is too small is not used', () => {
  const memory = createResponseMemory();
  const small = memory.allocate(100 * KIB);
  memory.release(small);
  expect(memory.allocate(200 * KIB).buffer).not.toBe(small.buffer);
});

test.each([0, 1, 32 * KIB - 1, 512 * KIB + 1])('response memory keeps no body of %i bytes', (size) => {
  const memory = createResponseMemory();
  const body = memory.allocate(size);
  expect(body).toHaveLength(size);
  memory.release(body);
  expect(memory.allocate(size).buffer).not.toBe(body.buffer);
});

test('response memory keeps at most eight unused bodies: the last ones', () => {
  const memory = createResponseMemory();
  const bodies = Array.from({ length: 9 }, () => memory.allocate(64 * KIB));
  for (const body of bodies) memory.release(body);
  const kept = new Set(Array.from({ length: 9 }, () => memory.allocate(64 * KIB).buffer));
  expect(bodies.filter(({ buffer }) => kept.has(buffer))).toEqual(bodies.slice(1));
});

/** Serves bodies of 300 kB in memory of the request, and records that memory. */
function largeBodies() {
  const used: (ArrayBufferLike | undefined)[] = [];
  const api: Api = {
    async handle({ allocate }) {
      const body = allocate?.(300_000).fill(0x61);
      used.push(body?.buffer);
      return { status: 200, headers: {}, body: body ?? '' };
    },
  };
  return { api, used };
}

async function readTwice(origin: string): Promise<void> {
  for (let i = 0; i < 2; i++) {
    expect(await (await fetch(origin)).text()).toBe('a'.repeat(300_000));
    await sleep(20); // the server sees the end of its response after the client
  }
}

test('node:http handler uses the memory of a body again after it was sent', async () => {
  const { api, used } = largeBodies();
  await readTwice(await listening(nodeHandler(api, { reusesMemory: true })));
  expect(used[0]).toBeDefined();
  expect(used[1]).toBe(used[0]);
});

test('node:http handler lends no memory to an API that may keep bodies', async () => {
  const { api, used } = largeBodies();
  const origin = await listening(nodeHandler(api));
  expect(await (await fetch(origin)).text()).toBe('');
  expect(used).toEqual([undefined]);
});

test.each(['end', 'write'] as const)('node:http handler releases no body if the host replaces %s', async (method) => {
  const { api, used } = largeBodies();
  const handler = nodeHandler(api, { reusesMemory: true });
  const origin = await listening((request, response) => {
    Object.assign(response, { [method]: response[method].bind(response) });
    handler(request, response);
  });
  await readTwice(origin);
  expect(used[1]).not.toBe(used[0]);
});

test('concurrent by_uids responses over node:http have the bytes of separate reads', async () => {
  const store = memoryStore();
  const book = createOrderBook({ chainId: SEPOLIA, store });
  await book.start();
  closing.push(() => book.close());
  const rows = Array.from({ length: 300 }, (_, n) => completeOrder(n));
  await store.orders.insert(rows.map((order) => ({ order })));
  const uids = rows.map(({ uid }) => uid);
  const origin = await listening(nodeHandler(book));

  const request = async (n: number) => {
    const list = Array.from({ length: 128 - (n % 40) }, (_, i) => uids[(n * 37 + i * 7) % uids.length] ?? '');
    const response = await fetch(`${origin}/api/v1/orders/by_uids`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(list),
    });
    if (n % 3 === 0) await sleep(5); // the client reads late, while others are answered
    const found = (await response.json()) as { readonly order: { readonly uid: string } }[];
    expect(found.map(({ order }) => order.uid).toSorted()).toEqual([...new Set(list)].toSorted());
  };
  for (let round = 0; round < 4; round++) {
    await Promise.all(Array.from({ length: 24 }, (_, n) => request(round * 24 + n)));
  }
});

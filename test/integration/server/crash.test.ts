import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { WireOrder } from '../../support/orders.ts';
import { account, signOrder } from '../../support/orders.ts';
import type { SpawnedServer } from './spawn.ts';
import { spawnServer } from './spawn.ts';

const ROUNDS = process.env['INTENTBOOK_TEST_LONG'] === undefined ? 3 : 20;
const CLIENTS = 8;
const KILL_AFTER = 40;

const folder = mkdtempSync(join(tmpdir(), 'intentbook-crash-'));
afterAll(() => rmSync(folder, { recursive: true }));

// Signed in advance, so that the server is busy when it is killed.
let orders: WireOrder[] = [];
beforeAll(async () => {
  const validTo = Math.floor(Date.now() / 1000) + 3600;
  const count = ROUNDS * (KILL_AFTER + CLIENTS * 8);
  orders = await Promise.all(
    Array.from({ length: count }, (_, i) => signOrder(account(i % 50), { validTo, sellAmount: `${i + 1}` })),
  );
});

/** Submits orders until the server is killed. @returns those with a received 201. */
async function submitUntilKilled(server: SpawnedServer): Promise<{ acknowledged: string[]; broken: number }> {
  const acknowledged: string[] = [];
  let broken = 0;
  let ended: Promise<unknown> | undefined;
  const client = async () => {
    for (let order = orders.pop(); order !== undefined; order = orders.pop()) {
      try {
        const body = JSON.stringify(order);
        const headers = { 'content-type': 'application/json' };
        const response = await fetch(`${server.url}/api/v1/orders`, { method: 'POST', headers, body });
        expect(response.status).toBe(201);
        acknowledged.push((await response.json()) as string);
      } catch (error) {
        if (ended === undefined) throw error;
        broken++;
        return;
      }
      if (acknowledged.length >= KILL_AFTER) ended ??= server.end('SIGKILL');
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  await ended;
  return { acknowledged, broken };
}

test(`server loses no acknowledged order after kill -9, ${ROUNDS} times over, in an intact file`, async () => {
  const path = join(folder, 'book.sqlite');
  const all: string[] = [];
  let broken = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const server = await spawnServer(['--db', path]);
    const result = await submitUntilKilled(server);
    expect(result.acknowledged.length).toBeGreaterThanOrEqual(KILL_AFTER);
    all.push(...result.acknowledged);
    broken += result.broken;
  }
  // Without a running request, no kill was in the middle.
  expect(broken).toBeGreaterThan(0);

  const server = await spawnServer(['--db', path]);
  const found = new Set<string>();
  for (let i = 0; i < all.length; i += 128) {
    const response = await fetch(`${server.url}/api/v1/orders/by_uids`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(all.slice(i, i + 128)),
    });
    for (const { order } of (await response.json()) as { order: { uid: string } }[]) found.add(order.uid);
  }
  expect(all.filter((uid) => !found.has(uid))).toEqual([]);
  expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null });

  const database = new Database(path);
  expect(database.pragma('integrity_check', { simple: true })).toBe('ok');
  database.close();
});

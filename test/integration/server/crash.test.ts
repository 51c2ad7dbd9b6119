import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { unpackHost } from '../../package/host.ts';
import type { WireOrder } from '../../support/orders.ts';
import { account, signOrder } from '../../support/orders.ts';
import type { SpawnedServer } from './spawn.ts';
import { spawnProgram, spawnServer } from './spawn.ts';

const LONG = process.env['TEST_LONG'] !== undefined;
const ROUNDS = LONG ? 20 : 3;
const CLIENTS = 8;
const KILL_AFTER = 40;

const folder = mkdtempSync(join(tmpdir(), 'intentbook-crash-'));
afterAll(() => rmSync(folder, { recursive: true }));

// Signed in advance, so that the server is busy when it is killed.
let signed: readonly WireOrder[] = [];
let orders: WireOrder[] = [];
beforeAll(async () => {
  const validTo = Math.floor(Date.now() / 1000) + 3600;
  const count = ROUNDS * (KILL_AFTER + CLIENTS * 8);
  signed = await Promise.all(
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

/** Kills a server repeatedly while it stores orders, and compares its file with the responses. */
async function expectDurable(path: string, start: () => Promise<SpawnedServer>): Promise<void> {
  orders = [...signed];
  const all: string[] = [];
  let broken = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const server = await start();
    const result = await submitUntilKilled(server);
    expect(result.acknowledged.length).toBeGreaterThanOrEqual(KILL_AFTER);
    all.push(...result.acknowledged);
    broken += result.broken;
  }
  // Without a running request, no kill was in the middle.
  expect(broken).toBeGreaterThan(0);

  const server = await start();
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
}

const RULE = `loses no acknowledged order after kill -9, ${ROUNDS} times over, in an intact file`;

test(`server with better-sqlite3 ${RULE}`, async () => {
  const path = join(folder, 'book.sqlite');
  await expectDurable(path, () => spawnServer(['--db', path]));
});

/** Node.js with SQLite: the one that is named, or that of the tests. The long run installs one. */
const [major = 0] = process.versions.node.split('.').map(Number);
const named = process.env['TEST_NODE'] ?? (major >= 22 ? process.execPath : undefined);
const reason = named === undefined && !LONG ? ' (skipped without Node.js 22.13: name it in TEST_NODE)' : '';

describe.skipIf(reason !== '')(`server without better-sqlite3${reason}`, () => {
  test(`and with SQLite of Node.js ${RULE}`, async () => {
    using host = unpackHost();
    const node = named ?? installNode(host.folder);
    const path = join(folder, 'node.sqlite');
    const command = join(host.folder, 'node_modules/intentbook/dist/cli.js');
    const args = [command, 'serve', '--port', '0', '--rate-limit', 'off', '--db', path];
    await expectDurable(path, () => spawnProgram(args, [], node));
  }, 300_000);
});

function installNode(cwd: string): string {
  const target = join(cwd, 'runtime');
  mkdirSync(target);
  writeFileSync(join(target, 'package.json'), '{ "private": true }');
  execFileSync('npm', ['install', 'node@24', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: target });
  return join(target, 'node_modules/node/bin/node');
}

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { createOrderBook } from 'intentbook';
import { sqliteStore } from 'intentbook/sqlite';
import { afterEach, describe, expect, test } from 'vitest';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';
import { addressOf, cleanUp, intentbook, scratch } from './process.ts';

afterEach(cleanUp);

const validTo = Math.floor(Date.now() / 1000) + 3600;

async function bookWith(count: number): Promise<{ db: string; folder: string }> {
  const folder = await scratch();
  const db = join(folder, 'book.sqlite');
  const book = createOrderBook({ chainId: SEPOLIA, store: sqliteStore({ path: db }) });
  await book.start();
  const sign = async (_: unknown, i: number) => signOrder(account(i), { validTo, sellAmount: String(i + 1) });
  await book.orders.submitMany(await Promise.all(Array.from({ length: count }, sign)));
  await book.close();
  return { db, folder };
}

/** Runs a command that must succeed and returns its JSON output. */
async function done(args: readonly string[]): Promise<Record<string, unknown>> {
  const ended = await intentbook([...args, '--json']).ended;
  expect([ended.code, ended.stderr]).toEqual([0, '']);
  return JSON.parse(ended.stdout) as Record<string, unknown>;
}

async function rejected(args: readonly string[], code = 1): Promise<string> {
  const ended = await intentbook(args).ended;
  expect([ended.code, ended.stdout]).toEqual([code, '']);
  return ended.stderr;
}

describe('check of a backup', () => {
  test('verifies it and names what the present book has since, beside its server', async () => {
    const { db, folder } = await bookWith(20);
    const copy = join(folder, 'monday.sqlite');
    const check = ['restore', copy, '--check', '--db', db];
    await done(['backup', copy, '--db', db]);
    const nothing = { entries: 0, orders: 0, types: {}, since: null };
    expect(await done(check)).toMatchObject({ ok: true, orders: 20, problems: [], lost: nothing });

    const accounts = join(folder, 'accounts.sqlite');
    const server = intentbook(['serve', '--port', '0', '--db', db, '--accounts', accounts]);
    const url = await addressOf(server);
    const body = JSON.stringify(await signOrder(account(50), { validTo }));
    const headers = { 'content-type': 'application/json' };
    expect((await fetch(`${url}/api/v1/orders`, { method: 'POST', headers, body })).status).toBe(201);
    const { lost } = await done(check);
    expect(lost).toMatchObject({ entries: 1, orders: 1, types: { created: 1 }, since: expect.stringContaining('T') });
    const { ended } = intentbook(check);
    expect((await ended).stdout).toMatch(/20 orders, 0 problems\n.*a restore loses 1 entries since .*: 1 created\n/);
  });

  test('reports an unknown loss of a missing, a damaged and another database', async () => {
    const { db, folder } = await bookWith(3);
    const copy = join(folder, 'monday.sqlite');
    await done(['backup', copy, '--db', db]);
    const [missing, damaged] = [join(folder, 'missing.sqlite'), join(folder, 'damaged.sqlite')];
    writeFileSync(damaged, 'no database');
    const other = await bookWith(5);
    for (const present of [missing, damaged, other.db]) {
      const data = await done(['restore', copy, '--check', '--db', present]);
      expect(data).toMatchObject({ orders: 3, lost: { unknown: expect.any(String) } });
    }
    expect(readdirSync(folder)).not.toContain('missing.sqlite');
  });

  test.each(['chain_events', 'orders_live', 'quotes'])('finds a damaged page of %s', async (table) => {
    const { db, folder } = await bookWith(3);
    const copy = join(folder, 'monday.sqlite');
    await done(['backup', copy, '--db', db]);
    const database = new Database(copy, { readonly: true });
    const page = database.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').pluck().get(table) as number;
    const size = database.pragma('page_size', { simple: true }) as number;
    database.close();
    writeFileSync(copy, readFileSync(copy).fill(0xa5, (page - 1) * size, page * size));
    expect(await rejected(['restore', copy, '--check', '--db', db])).toMatch(/monday\.sqlite" is damaged: \S/);
  });

  test('is refused without --check and for a missing backup', async () => {
    expect(await rejected(['restore', 'monday.sqlite'], 2)).toContain('restore requires --check');
    const { db, folder } = await bookWith(1);
    const args = ['restore', join(folder, 'no.sqlite'), '--check', '--db', db];
    expect(await rejected(args)).toContain('no.sqlite" does not exist');
  });
});

import Database from 'better-sqlite3';
import type { AccountStore, NotificationChange, Subscription } from 'intentbook';
import { memoryAccountStore } from 'intentbook/memory';
import { postgresAccountStore } from 'intentbook/postgres';
import { sqliteAccountStore } from 'intentbook/sqlite';
import pg from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { SortedList } from '../../../adapters/memory/sorted-list.ts';
import { manualClock } from '../../support/clock.ts';
import { temporarySchema } from '../../support/postgres.ts';
import { temporaryFile } from './temporary.ts';

const NOW = 1_700_000_000_000;
const CONCURRENT = 100;

/** Stores one pending delivery for each of `count` accounts, and some to a subscription of another lane. */
async function fill(store: AccountStore, count: number): Promise<void> {
  const made = Array.from({ length: count }, (_, n): Subscription => {
    const account = `0x${n.toString(16).padStart(40, '0')}` as const;
    const channel = n === 0 ? 'webhook' : 'email';
    return {
      id: `s${n}`,
      account,
      channel,
      target: 't',
      types: ['order_filled'],
      state: 'active',
      secret: null,
      createdAt: NOW,
    };
  });
  for (let i = 0; i < count; i += CONCURRENT) {
    const create = (subscription: Subscription) => {
      const nonce = { account: subscription.account, nonce: '1', expiresAt: NOW };
      return store.subscriptions.create({ subscription, nonce, quota: 9, now: NOW });
    };
    await Promise.all(made.slice(i, i + CONCURRENT).map(create));
  }
  const changes = made.map(
    ({ id, account }): NotificationChange => ({
      type: 'notify',
      notification: { id, account, type: 'order_filled', at: NOW, body: '{}' },
    }),
  );
  await store.notifications.append({ feed: 'f', after: null, through: 1, changes });
}

const REQUEST = { now: NOW + 1000, until: NOW + 9000, limit: 48, maxDelay: 3_600_000, perAccount: 2 };

/** Counts the rows of subscriptions that the statements of a claim read in SQLite. */
async function countSqlite(count: number): Promise<number> {
  using file = temporaryFile();
  const prepare = vi.spyOn(Database.prototype, 'prepare');
  const store = sqliteAccountStore({ path: file.path, synchronous: 'OFF' });
  await store.open({ clock: manualClock(NOW) });
  const texts = new Set(
    prepare.mock.calls.map(([text]) => text).filter((text) => text.includes('subscriptions_due WHERE')),
  );
  prepare.mockRestore();
  await fill(store, count);
  await store.close();
  using database = closing(new Database(file.path));
  let visited = 0;
  database.function('visited', () => {
    visited++;
    return 1;
  });
  const { now, maxDelay } = REQUEST;
  const parameters = [[], ['email', 0, now, now + maxDelay], ['email', 0, 0, now, '[]', 256]];
  expect(texts.size).toBe(3);
  for (const text of texts) {
    const given = parameters.find(({ length }) => length === text.split('?').length - 1);
    const statement = database.prepare(text.replaceAll('head IS NOT NULL', 'head IS NOT NULL AND visited()'));
    statement.all(...(given ?? []));
  }
  return visited;
}

/** Counts the items of lists that a claim reads in memory. */
async function countMemory(count: number): Promise<number> {
  const store = memoryAccountStore();
  await store.open({ clock: manualClock(NOW) });
  await fill(store, count);
  const { from } = SortedList.prototype;
  let visited = 0;
  using _ = vi.spyOn(SortedList.prototype, 'from').mockImplementation(function* (this: SortedList<unknown>, index) {
    for (const item of from.call(this, index)) {
      visited++;
      yield item;
    }
  });
  // A lane without a free slot is not searched.
  const lanes = [{ channel: 'webhook', isReliable: false, limit: 0 }];
  await store.deliveries.claim({ ...REQUEST, limit: 1, lanes });
  return visited;
}

const closing = (database: Database.Database) =>
  Object.assign(database, { [Symbol.dispose]: () => void database.close() });

interface Node {
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Relation Name'?: string;
  readonly Plans?: readonly Node[];
}

/** Counts the rows of subscriptions that the search of a claim reads in PostgreSQL. */
async function countPostgres(count: number): Promise<number> {
  const place = await temporarySchema();
  onTestFinished(async () => await place[Symbol.asyncDispose]());
  const store = postgresAccountStore({ url: place.url, schema: place.schema, migrate: true });
  await store.open({ clock: manualClock(NOW) });
  await fill(store, count);
  await place.query(`ANALYZE "${place.schema}".subscriptions`);
  const query = vi.spyOn(pg.Client.prototype, 'query');
  await store.deliveries.claim({ ...REQUEST, limit: 1 });
  const calls = query.mock.calls.map(([call]) => call as unknown as { text: string; values: unknown[] });
  query.mockRestore();
  const find = calls.find(({ text }) => text.includes('RECURSIVE lanes'));
  await store.close();
  const [row] = await place.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${find?.text}`, find?.values);
  const flatten = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(flatten)];
  const plans = row?.['QUERY PLAN'] as { Plan: Node }[]; // by PostgreSQL
  return plans
    .flatMap(({ Plan }) => flatten(Plan))
    .filter((node) => node['Relation Name'] === 'subscriptions')
    .reduce(
      (sum, node) => sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
      0,
    );
}

test.each([
  ['SQLite, 600', countSqlite, 600],
  ['SQLite, 5000', countSqlite, 5000],
  // Of a smaller table, PostgreSQL reads all rows, since they are few.
  ['PostgreSQL, 3000', countPostgres, 3000],
  ['memory, 5000', countMemory, 5000],
])('a claim of deliveries reads no more rows than its window: %s', async (_, count, pending) => {
  const rows = await count(pending);
  expect(rows).toBeGreaterThanOrEqual(256);
  expect(rows).toBeLessThan(270);
});

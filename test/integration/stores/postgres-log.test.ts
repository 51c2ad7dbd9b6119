import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Store, StoredEvent } from 'intentbook';
import { StoreError, systemClock } from 'intentbook';
import { beginPostgresLogEpoch, migratePostgres, postgresAccountStore, postgresStore } from 'intentbook/postgres';
import { getLogEpochStart } from 'intentbook/store-kit';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PgPool } from '../../../adapters/postgres/database-driver.ts';
import { createWatch } from '../../../adapters/postgres/watch.ts';
import { notification, notify, step } from '../../conformance/accounts/notifications.ts';
import { apply, trade } from '../../conformance/chain.ts';
import { DOMAIN } from '../../conformance/harness.ts';
import { ALICE, BOB, NOW, order, PLACED_AT, place, range } from '../../conformance/orders.ts';
import { manualClock } from '../../support/clock.ts';
import type { TemporarySchema } from '../../support/postgres.ts';
import { emptySchema, temporarySchema } from '../../support/postgres.ts';

let here: TemporarySchema;
const open: Store[] = [];
beforeAll(async () => {
  here = await temporarySchema();
  await migratePostgres({ url: here.url, schema: here.schema });
});
afterAll(async () => await here[Symbol.asyncDispose]());
beforeEach(async () => {
  for (const store of open.splice(0)) await store.close();
  await emptySchema(here);
  return async () => {
    for (const store of open.splice(0)) await store.close();
  };
});

async function opened(options: { listen?: boolean } = { listen: false }, clock = systemClock): Promise<Store> {
  const store = postgresStore({ url: here.url, schema: here.schema, ...options });
  await store.open({ domain: DOMAIN, clock });
  open.push(store);
  return store;
}

/** Whether an id is derived from the time, as the first ones of a log epoch that follows another one. */
const isNewEpoch = (id: number) => id > getLogEpochStart(0, Date.now() - 600_000);

/** A host transaction that stays open as long as the test requires. */
async function hostClient(begin = 'BEGIN'): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: here.url });
  await client.connect();
  await client.query(begin);
  return client;
}

describe('PostgreSQL event log', () => {
  test('never shows an id before a smaller one, with many writers and slow transactions', async () => {
    const stores = await Promise.all(range(4).map(() => opened()));
    const [reader, ...writers] = stores;
    if (reader === undefined) throw new Error('four stores are opened above');
    let writing = true;
    /** Transactions that insert, wait, and then commit or roll back, so that their events appear late or never. */
    const slow = range(2).map(async (n) => {
      for (let i = 0; writing; i++) {
        const client = await hostClient();
        const owner = n === 0 ? ALICE : BOB;
        await reader.orders.insert([{ order: order(10_000 * (n + 1) + i, { owner }) }], { transaction: client });
        await client.query('SELECT pg_sleep(0.03)');
        await client.query(i % 3 === 0 ? 'ROLLBACK' : 'COMMIT');
        await client.end();
      }
    });
    const fast = Promise.all(
      range(150).map(async (n) => {
        const owner = `0x${(n % 7).toString(16).padStart(40, '5')}` as const;
        await writers[n % 3]?.orders.insert([{ order: order(n, { owner }) }]);
      }),
    ).finally(() => {
      writing = false;
    });

    // Each page is final: later events must follow it.
    const seen: StoredEvent[] = [];
    const follow = async () => {
      const page = await reader.events.after(seen.at(-1)?.id ?? 0, 1000);
      seen.push(...page);
    };
    while (writing) await follow();
    await Promise.all([fast, ...slow]);
    await follow();
    const truth = await here.query(`SELECT count(*)::int AS n FROM "${here.schema}".events`);
    expect(seen.length).toBe(truth[0]?.['n']);
    expect(seen.map(({ id }) => id)).toEqual(range(seen.length).map((n) => n + 1));
    const stored = await here.query(`SELECT count(*)::int AS n FROM "${here.schema}".orders`);
    expect(seen.length).toBe(stored[0]?.['n']);
  });

  test('and other writers continue during a long host transaction', async () => {
    const store = await opened();
    const client = await hostClient();
    await store.orders.insert([{ order: order(1) }], { transaction: client });
    await place(store, order(2, { owner: BOB }));
    expect((await store.events.after(0, 9)).map(({ id, uid }) => [id, uid])).toEqual([
      [1, order(2, { owner: BOB }).uid],
    ]);
    await client.query('COMMIT');
    await client.end();
    expect((await store.events.after(1, 9)).map(({ id, uid }) => [id, uid])).toEqual([[2, order(1).uid]]);
  });

  test('includes the events of a process that died before it published them', async () => {
    const [crashing, other] = [await opened(), await opened()];
    await place(crashing, order(1), order(2));
    await crashing.close(); // without a reader, no event has a number
    expect((await other.events.after(0, 9)).map(({ id }) => id)).toEqual([1, 2]);
  });
});

test('PostgreSQL log of a dump that was restored on another server continues in a new log epoch', async () => {
  const store = await opened();
  await place(store, order(1));
  await store.events.last();
  await place(store, order(2)); // without a number
  await store.close();
  // The ids of transactions and the snapshot come from a server that was far ahead.
  const s = `"${here.schema}"`;
  await here.query(`UPDATE ${s}.log_epochs SET system = '1'; UPDATE ${s}.events SET xid = xid + 100000;
    UPDATE ${s}.log SET xid = xid + 100000, snapshot = '100900:100900:'`);
  const restored = await opened();
  await place(restored, order(3));
  const events = await restored.events.after(0, 9);
  expect(events.map(({ id, uid }) => [id, uid])).toEqual([
    [1, order(1).uid],
    [2, order(2).uid],
    [expect.toSatisfy(isNewEpoch), order(3).uid],
  ]);
});

test('PostgreSQL log of a dump that was restored into another database of a server continues in a new log epoch', async () => {
  const [source, copy] = ['source', 'copy'].map((name) => `${here.schema}_${name}`);
  const openDatabase = async (name: string | undefined) => {
    const store = postgresStore({
      url: Object.assign(new URL(here.url), { pathname: `/${name}` }).href,
      listen: false,
    });
    await store.open({ domain: DOMAIN, clock: systemClock });
    return store;
  };
  try {
    await here.query(`CREATE DATABASE ${source}`);
    await migratePostgres({ url: Object.assign(new URL(here.url), { pathname: `/${source}` }).href });
    for (const n of [1, 2]) {
      // The same database does not begin a log epoch.
      const store = await openDatabase(source);
      await place(store, order(n));
      expect((await store.events.after(0, 9)).map(({ id }) => id)).toEqual(range(n).map((i) => i + 1));
      await store.close();
    }
    await here.query(`CREATE DATABASE ${copy} TEMPLATE ${source}`);
    const restored = await openDatabase(copy);
    await place(restored, order(3));
    expect((await restored.events.after(0, 9)).map(({ id }) => id)).toEqual([1, 2, expect.toSatisfy(isNewEpoch)]);
    await restored.close();
  } finally {
    for (const name of [source, copy]) await here.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  }
});

test('PostgreSQL log of a dump is adopted in steps', async () => {
  const store = await opened();
  await place(store, order(1));
  await store.events.last();
  await store.close();
  const s = `"${here.schema}"`;
  const count = 250_000;
  await here.query(`INSERT INTO ${s}.events (xid, at, type, key) SELECT 1000000 + n, e.at, e.type, e.key
      FROM ${s}.events e, generate_series(1, ${count}) n;
    INSERT INTO ${s}.log (last, size, xid) SELECT 1 + n, 1, 1000000 + n FROM generate_series(1, ${count}) n;
    UPDATE ${s}.log_epochs SET system = '1'`);
  const restored = await opened();
  await place(restored, order(2));
  expect(await restored.events.last()).toSatisfy(isNewEpoch);
  // Without statistics, PostgreSQL 14 compares each event with each numbered transaction.
  await here.query(`ANALYZE ${s}.events; ANALYZE ${s}.log`);
  const [found] = await here.query(`SELECT count(*)::int AS events, min(xid)::int AS min,
    (SELECT count(*)::int FROM ${s}.events e JOIN ${s}.log l USING (xid) WHERE e.xid < 0) AS numbered
    FROM ${s}.events`);
  const [before] = await here.query(`SELECT max(xid)::int AS xid FROM ${s}.events WHERE xid < 0`);
  expect([found?.['events'], found?.['numbered'], before?.['xid']]).toEqual([count + 2, count + 1, -1]);
});

/** Contents of all tables of a schema, for a restore into them as by `pg_restore --data-only`. */
async function dumpData({ schema, query }: TemporarySchema) {
  const tables = await query(
    'SELECT relname AS name FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind = $2',
    [`"${schema}"`, 'r'],
  );
  const data = new Map<string, unknown>();
  for (const { name } of tables) {
    const [row] = await query(`SELECT coalesce(json_agg(t), '[]')::text AS rows FROM "${schema}"."${name}" t`);
    data.set(String(name), row?.['rows']);
  }
  const s = `"${schema}"`;
  return async (empty: 'TRUNCATE' | 'DELETE FROM') => {
    // Like pg_restore --disable-triggers, which does not check foreign keys.
    const statements = [...data].flatMap(([name]) => [
      empty === 'TRUNCATE' ? `TRUNCATE ${s}."${name}" CASCADE` : `DELETE FROM ${s}."${name}"`,
    ]);
    const inserts = [...data].map(
      ([name, rows]) =>
        `INSERT INTO ${s}."${name}" OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::${s}."${name}", $json$${rows}$json$)`,
    );
    await query(['SET session_replication_role = replica', ...statements, ...inserts].join('; '));
  };
}

describe.each(['TRUNCATE', 'DELETE FROM'] as const)('PostgreSQL data that was restored after %s', (empty) => {
  test('continues the log in a new log epoch each time', async () => {
    const store = await opened();
    await place(store, order(1));
    await store.events.last();
    const restore = await dumpData(here);
    await place(store, order(2));
    let seen = await store.events.last();
    expect(seen).toBe(2);
    for (const n of [3, 4]) {
      await restore(empty);
      await place(store, order(n));
      const missed = await store.events.after(seen, 9);
      expect(missed.map(({ uid }) => uid)).toEqual([order(n).uid]);
      expect(missed[0]?.id).toBeGreaterThan(seen + 1); // the hole is the gap of a reader
      seen = await store.events.last();
      await here.query(`VACUUM (FREEZE, FULL) "${here.schema}".log_epochs`);
      await place(store, order(n + 10));
      expect(await store.events.last()).toBe(seen + 1); // the same log epoch
      seen++;
    }
  });

  test.each([[[1]], [[]]])('continues the account log of %j in a new log epoch each time', async (stored) => {
    await using accounts = await temporarySchema();
    const store = postgresAccountStore({ url: accounts.url, schema: accounts.schema, migrate: true, listen: false });
    await store.open({ clock: systemClock });
    for (const n of stored) await step(store, notify(notification(n)));
    const restore = await dumpData(accounts);
    await step(store, notify(notification(2)));
    let seen = await store.notifications.last();
    expect(seen).toBe(stored.length + 1);
    for (const n of [3, 5]) {
      await restore(empty);
      await step(store, notify(notification(n)));
      await accounts.query(`VACUUM (FREEZE, FULL) "${accounts.schema}".locks`);
      await step(store, notify(notification(n + 1)));
      const missed = (await store.notifications.after(seen, 9)).map(({ id }) => id);
      const [first = 0] = missed;
      expect(first).toBeGreaterThan(seen + 1);
      expect(missed).toEqual([first, first + 1]);
      seen = await store.notifications.last();
    }
    await store.close();
  });
});

test('PostgreSQL logs begin a new log epoch on request, also of open stores', async () => {
  await using schema = await temporarySchema();
  const { url } = here;
  const accounts = postgresAccountStore({ url, schema: schema.schema, migrate: true, listen: false });
  await accounts.open({ clock: systemClock });
  await step(accounts, notify(notification(1)));
  const store = await opened();
  await place(store, order(1));
  await store.events.last();
  await beginPostgresLogEpoch({ url, schema: here.schema });
  await beginPostgresLogEpoch({ url, schema: schema.schema, of: 'accounts' });
  for (const n of [2, 3]) {
    await place(store, order(n));
    await step(accounts, notify(notification(n)));
  }
  for (const log of [store.events, accounts.notifications]) {
    const [, first = 0, ...rest] = (await log.after(0, 9)).map(({ id }) => id);
    expect(first).toSatisfy(isNewEpoch);
    expect(rest).toEqual([first + 1]);
  }
  await accounts.close();
});

describe('PostgreSQL notification', () => {
  /** Counts wake-ups. The clock does not move, so that polling causes none. */
  async function watched(store: Store): Promise<{ count: number; stop: () => void }> {
    const wakeUps = { count: 0, stop: () => {} };
    wakeUps.stop = store.events.watch(() => wakeUps.count++);
    await expect.poll(() => wakeUps.count).toBe(1); // when the listener is connected
    return wakeUps;
  }

  /** A store that does not listen would not notify others either. */
  const listening = (clock = manualClock()) => opened({ listen: true }, clock);

  test('arrives from another process when its events are numbered, and not from the own one', async () => {
    const [store, other] = [await listening(), await listening()];
    const wakeUps = await watched(store);
    await place(store, order(1));
    await store.events.after(0, 9);
    await place(other, order(2));
    await other.events.after(0, 9);
    await expect.poll(() => wakeUps.count).toBe(2);
    wakeUps.stop();
    await place(other, order(3));
    await other.events.after(0, 9);
    await store.events.last();
    expect(wakeUps.count).toBe(2);
  });

  test('arrives once for all events within an interval', async () => {
    const clock = manualClock();
    const [store, other] = [await listening(clock), await listening()];
    const wakeUps = await watched(store);
    for (let i = 1; i <= 4; i++) {
      await place(other, order(i));
      await other.events.after(0, 9);
      if (i === 1) await expect.poll(() => wakeUps.count).toBe(2);
    }
    await sleep(200); // the notifications arrive
    expect(wakeUps.count).toBe(2);
    await expect
      .poll(() => {
        clock.advance(20);
        return wakeUps.count;
      })
      .toBe(3);
    clock.advance(20);
    expect(wakeUps.count).toBeLessThan(5); // one for each event
  });

  test('arrives again after the listening connection was cut', async () => {
    const clock = manualClock();
    const [store, other] = [await listening(clock), await listening()];
    const wakeUps = await watched(store);
    const connections = `SELECT pid FROM pg_stat_activity WHERE query = 'LISTEN "intentbook.${here.schema}"'`;
    await here.query(`SELECT pg_terminate_backend(pid) FROM (${connections}) l`);
    await expect.poll(() => here.query(connections)).toEqual([]);
    await expect.poll(() => clock.pending).toBe(2); // one for polling, one for the reconnect
    clock.advance(500);
    await expect.poll(() => wakeUps.count).toBe(2); // an event can have been missed
    await place(other, order(1));
    await other.events.after(0, 9);
    await expect.poll(() => wakeUps.count).toBe(3);
  });

  test('is replaced by polling without a listening connection', async () => {
    const clock = manualClock();
    const store = await opened({ listen: false }, clock);
    let count = 0;
    const stop = store.events.watch(() => count++);
    clock.advance(3000);
    expect(count).toBe(3);
    stop();
    clock.advance(3000);
    expect([count, clock.pending]).toEqual([3, 0]);
  });
});

describe('host transaction on PostgreSQL', () => {
  test('is rejected without a write if the store cannot join it', async () => {
    const store = await opened();
    const idle = await hostClient('SELECT 1');
    for (const transaction of [idle, {}, 'BEGIN', null]) {
      await expect(store.orders.insert([{ order: order(1) }], { transaction })).rejects.toMatchObject({
        code: 'Unsupported',
      });
    }
    await idle.end();
    expect(await store.orders.get([order(1).uid])).toEqual([]);
  });

  test('continues after a failed insert, without its writes', async () => {
    const store = await opened();
    const client = await hostClient();
    await store.orders.insert([{ order: order(1) }], { transaction: client });
    const corrupted = { order: order(2, { body: 'no JSON' }) };
    await expect(store.orders.insert([{ order: order(3) }, corrupted], { transaction: client })).rejects.toThrow(
      StoreError,
    );
    await client.query('COMMIT');
    await client.end();
    expect((await store.orders.list({ limit: 9 })).map(({ uid }) => uid)).toEqual([order(1).uid]);
  });

  test('with stricter isolation does not miss an order that was inserted after its snapshot', async () => {
    const store = await opened();
    await place(store, order(1));
    for (const level of ['REPEATABLE READ', 'SERIALIZABLE']) {
      const client = await hostClient(`BEGIN ISOLATION LEVEL ${level}; SELECT 1 FROM pg_class LIMIT 1`);
      const n = level.length;
      await place(store, order(n));
      const joined = store.orders.insert([{ order: order(n + 1), quota: 2 }], { transaction: client });
      await expect(joined).rejects.toMatchObject({ code: 'Unavailable', cause: { code: '40001' } });
      await client.query('ROLLBACK');
      await client.end();
    }
  });

  test.each([
    ['a trade', (store: Store) => apply(store, 10, trade(order(2), 10))],
    ['the rollback of a trade', (store: Store) => store.chain.rollback({ to: 8, at: PLACED_AT })],
  ])('with stricter isolation does not miss %s that was stored after its snapshot', async (_, change) => {
    const store = await opened();
    await place(store, order(1));
    await apply(store, 9, trade(order(2), 9));
    const client = await hostClient('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM pg_class LIMIT 1');
    try {
      await change(store);
      const joined = store.orders.insert([{ order: order(2) }], { transaction: client });
      await expect(joined).rejects.toMatchObject({ code: 'Unavailable', cause: { code: '40001' } });
    } finally {
      await client.end();
    }
  });

  test('with stricter isolation does not insert a cancelled order that was deleted after its snapshot', async () => {
    const store = await opened();
    await place(store, order(1));
    await store.orders.cancel({ uids: [order(1).uid], now: NOW, cancelledAt: PLACED_AT });
    const client = await hostClient('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM pg_class LIMIT 1');
    try {
      expect(await store.orders.prune({ before: order(1).validTo + 1, limit: 9 })).toBe(1);
      const joined = store.orders.insert([{ order: order(1) }], { transaction: client });
      await expect(joined).rejects.toMatchObject({ code: 'Unavailable', cause: { code: '40001' } });
    } finally {
      await client.end();
    }
  });
});

test('PostgreSQL listener opens one connection after one that ended during LISTEN, and releases it', async () => {
  const clock = manualClock();
  const clients: { released: boolean }[] = [];
  const pool: PgPool = {
    async connect() {
      const client = Object.assign(new EventEmitter(), {
        released: false,
        async query() {
          if (clients.length > 1) return { rows: [] };
          client.emit('end');
          throw new Error('Connection terminated unexpectedly');
        },
        release() {
          client.released = true;
        },
      });
      clients.push(client);
      return client;
    },
  };
  const settings = { channel: 'c', signature: 's', listen: true, pollInterval: 60_000 };
  const watch = createWatch(pool, clock, settings);
  watch.add(() => {});
  await sleep(0);
  clock.advance(1000);
  await sleep(0);
  expect(clients).toHaveLength(2);
  watch.close();
  expect(clients.map(({ released }) => released)).toEqual([true, true]);
});

import type { Clock, Store } from 'intentbook';
import { StoreError, systemClock } from 'intentbook';
import type { PgPool, PgPoolClient, PgQuery } from 'intentbook/postgres';
import { migratePostgres, postgresStore } from 'intentbook/postgres';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { apply, trade } from '../../conformance/chain.ts';
import { DOMAIN } from '../../conformance/harness.ts';
import { ALICE, BOB, document, NOW, order, PLACED_AT, range } from '../../conformance/orders.ts';
import type { TemporarySchema } from '../../support/postgres.ts';
import { emptySchema, temporarySchema } from '../../support/postgres.ts';
import { startPostgres } from '../../support/postgres-server.ts';

let place: TemporarySchema;
beforeAll(async () => {
  place = await temporarySchema();
  await migratePostgres({ url: place.url, schema: place.schema });
});
afterAll(async () => await place[Symbol.asyncDispose]());
beforeEach(() => emptySchema(place));

async function opened(pool: PgPool, clock: Clock = systemClock): Promise<Store> {
  const store = postgresStore(pool, { schema: place.schema, listen: false });
  await store.open({ domain: DOMAIN, clock });
  return store;
}

/** A pool whose connections `cut` can break at any statement, like a network. */
function cuttable(
  cut: (query: PgQuery, run: () => Promise<unknown>, kill: () => Promise<never>) => Promise<unknown>,
  properties: Partial<PgPoolClient> = {},
) {
  const pool = new pg.Pool({ connectionString: place.url });
  pool.on('error', () => {});
  const wrapped = new WeakMap<object, PgPoolClient>();
  return {
    end: () => pool.end(),
    async connect(): Promise<PgPoolClient> {
      const client = await pool.connect();
      const known = wrapped.get(client);
      if (known !== undefined) return known;
      const run = (query: PgQuery) => (client as PgPoolClient).query(query);
      const kill = async () => {
        const { rows } = await run({ text: 'SELECT pg_backend_pid() AS pid' });
        await place.query('SELECT pg_terminate_backend($1)', [(rows[0] as { pid: number }).pid]);
        return (await run({ text: 'SELECT 1' })) as never; // it throws, like the driver after a lost connection
      };
      const substitute: PgPoolClient = {
        processID: (client as PgPoolClient).processID ?? 0,
        ...properties,
        query: (query) => cut(query, () => run(query), kill) as ReturnType<PgPoolClient['query']>,
        release: (error) => client.release(error),
        on: (event, listener) => client.on(event as 'error', listener),
        removeListener: (event, listener) => client.removeListener(event, listener),
      };
      wrapped.set(client, substitute);
      return substitute;
    },
  };
}

const isUnavailable = (error: unknown) =>
  error instanceof StoreError && error.code === 'Unavailable' && error.cause !== undefined;

describe('PostgreSQL connection that breaks', () => {
  test.each([
    ['before the statement is executed', false],
    ['after the server has committed', true],
  ])('%s: the result matches the stored state', async (_, committed) => {
    let armed = false;
    const pool = cuttable(async ({ text }, run, kill) => {
      if (!armed || !text.includes('insert_orders')) return run();
      armed = false;
      if (committed) await run();
      return kill();
    });
    const store = await opened(pool);
    armed = true;
    const insert = { order: order(1), document: document(1, '{}') };
    // Resolved by a second insert, after the session has ended.
    expect(await store.orders.insert([insert])).toEqual([{ status: 'inserted' }]);
    expect(armed).toBe(false);
    expect(await store.orders.get([order(1).uid])).toHaveLength(1);
    expect(await store.orders.count(ALICE, NOW)).toEqual({ open: 1, pending: 0 });
    expect(await store.events.after(0, 9)).toHaveLength(1);
    await store.close();
    await pool.end();
  });

  test('before the statement is executed, and another store inserts the order: only the other one has inserted it', async () => {
    let armed = false;
    const pool = cuttable(async ({ text }, run, kill) => {
      if (!armed || !text.includes('insert_orders')) return run();
      armed = false;
      expect(await other.orders.insert([{ order: order(1) }])).toEqual([{ status: 'inserted' }]);
      return kill();
    });
    const other = postgresStore({ url: place.url, schema: place.schema, listen: false });
    await other.open({ domain: DOMAIN, clock: systemClock });
    const store = await opened(pool);
    armed = true;
    const outcomes = await store.orders.insert([{ order: order(1) }, { order: order(2) }, { order: order(2) }]);
    expect(outcomes.map(({ status }) => status)).toEqual(['duplicate', 'inserted', 'duplicate']);
    expect(armed).toBe(false);
    for (const each of [store, other, pool]) await ('close' in each ? each.close() : each.end());
  });

  test('after the commit of a batch with a repeated order: the first one is inserted', async () => {
    let armed = false;
    const pool = cuttable(async ({ text }, run, kill) => {
      if (!armed || !text.includes('insert_orders')) return run();
      armed = false;
      await run();
      return kill();
    });
    const store = await opened(pool);
    armed = true;
    const outcomes = await store.orders.insert([{ order: order(1) }, { order: order(1) }]);
    expect(outcomes.map(({ status }) => status)).toEqual(['inserted', 'duplicate']);
    await store.close();
    await pool.end();
  });

  test('twice leaves the outcome unknown, because the second insert may still be executed', async () => {
    let cuts = 0;
    const pool = cuttable(async ({ text }, run, kill) => {
      if (cuts === 0 || !text.includes('insert_orders')) return run();
      cuts--;
      return kill();
    });
    const store = await opened(pool);
    cuts = 2;
    expect(await store.orders.insert([{ order: order(1) }])).toEqual([{ status: 'unknown' }]);
    expect(cuts).toBe(0);
    await store.close();
    await pool.end();
  });

  test('and whose session cannot be identified leaves the outcome unknown', async () => {
    let armed = false;
    const pool = cuttable(
      async ({ text }, run, kill) => {
        if (!armed || !text.includes('insert_orders')) return run();
        armed = false;
        await run();
        return kill();
      },
      { processID: 1 },
    );
    const store = await opened(pool);
    armed = true;
    expect(await store.orders.insert([{ order: order(1) }])).toEqual([{ status: 'unknown' }]);
    expect(await store.orders.get([order(1).uid])).toHaveLength(1);
    expect(await store.orders.insert([{ order: order(1) }])).toEqual([{ status: 'duplicate' }]);
    await store.close();
    await pool.end();
  });

  test('before old documents are deleted: the new document is not stored either', async () => {
    const pool = cuttable(({ text }, run, kill) => (/DELETE FROM \S+\.documents/.test(text) ? kill() : run()));
    const store = await opened(pool);
    await expect(store.appData.put(document(1, '{}'), 1)).rejects.toSatisfy(isUnavailable);
    expect(await store.appData.get(document(1, '').hash)).toBeUndefined();
    await store.close();
    await pool.end();
  });

  test.each([
    ['after the server has committed', true],
    ['before the commit reaches the server', false],
  ])('%s a transaction: the result matches the stored state', async (_, committed) => {
    let armed = false;
    const pool = cuttable(async ({ text }, run, kill) => {
      if (!armed || text !== 'COMMIT') return run();
      armed = false;
      if (committed) await run();
      return kill();
    });
    const store = await opened(pool);
    armed = true;
    const recording = store.auctions.record({ deadline: 1, auctionId: 7, body: '{}', orders: '0x' }, 9);
    if (committed) expect(await recording).toBe('recorded');
    else await expect(recording).rejects.toSatisfy(isUnavailable);
    expect(await store.auctions.competitions({ limit: 9 })).toHaveLength(committed ? 1 : 0);
    await store.close();
    await pool.end();
  });
});

test('a transaction of the host contains nothing of an insert whose response was too late for the driver', async () => {
  const store = await opened(place.pool);
  const pool = cuttable(async ({ text }, run) => {
    const result = await run();
    if (text.includes('insert_orders')) throw new Error('Query read timeout');
    return result;
  });
  const client = await pool.connect();
  await client.query({ text: 'BEGIN' });
  await expect(store.orders.insert([{ order: order(1) }], { transaction: client })).rejects.toSatisfy(isUnavailable);
  await client.query({ text: 'COMMIT' });
  client.release();
  expect(await store.orders.get([order(1).uid])).toEqual([]);
  await store.close();
  await pool.end();
});

test('PostgreSQL store recovers after a server restart without being reopened', async () => {
  const server = await startPostgres();
  const store = postgresStore({ url: server.url, migrate: true, pollInterval: 50 });
  let notified = 0;
  try {
    await store.open({ domain: DOMAIN, clock: systemClock });
    store.events.watch(() => notified++);
    await store.orders.insert([{ order: order(1) }]);
    await server.stop();
    const calls: (() => Promise<unknown>)[] = [
      () => store.orders.insert([{ order: order(2) }]),
      () => store.orders.get([order(1).uid]),
      () => store.events.after(0, 10),
      () => store.check(),
    ];
    for (const call of calls) await expect(call()).rejects.toSatisfy(isUnavailable);
    await server.start();
    await store.check();
    expect(await store.orders.insert([{ order: order(2) }])).toEqual([{ status: 'inserted' }]);
    expect((await store.orders.list({ limit: 9 })).length).toBe(2);
    // The watcher receives notifications again.
    const before = notified;
    await expect.poll(() => notified).toBeGreaterThan(before + 1);
  } finally {
    await store.close();
    await server.dispose();
  }
});

test('PostgreSQL store errors contain neither SQL nor the server address', async () => {
  const store = postgresStore({ url: 'postgres://me:secret@127.0.0.1:1/books', schema: 'elsewhere' });
  const error = await store.open({ domain: DOMAIN, clock: systemClock }).catch((cause: unknown) => cause);
  expect(isUnavailable(error)).toBe(true);
  expect(String(error)).toBe(
    'StoreError: the PostgreSQL store cannot open: the server cannot be reached (ECONNREFUSED)',
  );
});

describe('concurrent PostgreSQL writers', () => {
  test('store every batch without deadlock in any batch order', async () => {
    const stores = await Promise.all(
      range(3).map(async () => {
        const store = postgresStore({ url: place.url, schema: place.schema, listen: false });
        await store.open({ domain: DOMAIN, clock: systemClock });
        return store;
      }),
    );
    const batch = (n: number) => {
      const inserts = range(6).map((i) => ({
        order: order(n * 100 + i, { owner: i % 2 === 0 ? ALICE : BOB, appData: document(i, '').hash }),
        document: document(i, `{"n":${i}}`),
        quota: 1000,
      }));
      return n % 2 === 0 ? inserts : inserts.reverse();
    };
    const batches = range(30).map(batch);
    const outcomes = await Promise.all(batches.map(async (inserts, n) => await stores[n % 3]?.orders.insert(inserts)));
    expect(outcomes.flat().every((outcome) => outcome?.status === 'inserted')).toBe(true);
    // Cancels some orders during concurrent replacements and inserts.
    const uids = batches.flat().map(({ order }) => order.uid);
    const work = range(30).flatMap((n) => [
      stores[n % 3]?.orders.cancel({
        uids: [uids[n * 6], uids[n * 6 + 1]].flatMap((uid) => uid ?? []),
        now: NOW,
        cancelledAt: PLACED_AT,
      }),
      stores[(n + 1) % 3]?.orders.insert([
        { order: order(9000 + n, { owner: BOB }), replaces: uids[n * 6 + 1] ?? '0x' },
        { order: order(9100 + n) },
      ]),
    ]);
    await Promise.all(work);
    const [store] = stores;
    const counts = await Promise.all([ALICE, BOB].map((owner) => store?.orders.count(owner, NOW)));
    const live = await store?.orders.list({ status: { is: 'open', now: NOW }, limit: 1000 });
    expect(counts.reduce((sum, count) => sum + (count?.open ?? 0), 0)).toBe(live?.length);
    expect(await store?.events.last()).toBe((await store?.events.after(0, 10_000))?.length);
    await Promise.all(stores.map((each) => each.close()));
  });
});

describe('concurrent PostgreSQL inserts with shared documents', () => {
  const [first, second] = [document(1, '{"n":1}'), document(2, '{"n":2}')];
  const group = (n: number, owner: typeof ALICE, documents: readonly (typeof first)[]) =>
    documents.map((each, i) => ({
      order: order(n + i, { owner, appData: each.hash }),
      // The other order refers to a document that is already stored.
      ...(i === 0 ? { document: each } : {}),
    }));

  test('lock them in one order, so that none is repeated after a deadlock', async () => {
    const texts: string[] = [];
    const pool = cuttable(({ text }, run) => {
      texts.push(text);
      return run();
    });
    const store = await opened(pool);
    for (const each of [first, second]) await store.appData.put(each);
    /** Locks a document until the returned function is called. */
    const lock = async ({ hash }: typeof first) => {
      const client = await place.pool.connect();
      await client.query('BEGIN');
      await client.query(`SELECT FROM "${place.schema}".documents WHERE hash = $1 FOR UPDATE`, [`\\x${hash.slice(2)}`]);
      return () => client.query('COMMIT').then(() => client.release());
    };
    const waiting =
      'SELECT FROM pg_stat_activity WHERE cardinality(pg_blocking_pids(pid)) > 0 ' +
      `AND query LIKE '%"${place.schema}".insert_orders%'`;
    const allWait = () => expect.poll(async () => (await place.pool.query(waiting)).rowCount).toBe(2);
    const [unlockFirst, unlockSecond] = [await lock(first), await lock(second)];
    const groups = [group(1, ALICE, [second, first]), group(11, BOB, [first, second])];
    const inserting = groups.map((inserts) => store.orders.insert(inserts));
    await allWait();
    await unlockSecond();
    await allWait();
    await unlockFirst();
    const outcomes = (await Promise.all(inserting)).flat();
    expect(outcomes.map(({ status }) => status)).toEqual(Array.from({ length: 4 }, () => 'inserted'));
    expect(texts.filter((text) => text.includes('insert_orders'))).toHaveLength(2);
    await store.close();
    await pool.end();
  });
});

test('a trade that is stored during an insert of several orders is applied to its order', async () => {
  const [known, concurrent] = [order(1), order(2)];
  let applied: Promise<void> | undefined;
  const pool = cuttable(async (query, run) => {
    const result = await run();
    // The first order has a stored trade, so the orders that have stored chain events are searched.
    if (query.text.startsWith('SELECT DISTINCT e.key')) {
      applied = apply(indexer, 20, trade(concurrent, 20));
      await Promise.race([applied, new Promise((resolve) => setTimeout(resolve, 300))]);
    }
    return result;
  });
  const [indexer, store] = [await opened(place.pool), await opened(pool)];
  try {
    await apply(indexer, 10, trade(known, 10));
    const outcomes = await store.orders.insert([{ order: known }, { order: concurrent }]);
    expect(outcomes.map(({ status }) => status)).toEqual(['inserted', 'inserted']);
    await applied;
    const rows = await store.orders.get([known.uid, concurrent.uid]);
    expect(rows.map(({ executedSellAmount }) => executedSellAmount)).toEqual(['40', '40']);
  } finally {
    await Promise.allSettled([applied]);
    for (const each of [indexer, store]) await each.close();
    await pool.end();
  }
});

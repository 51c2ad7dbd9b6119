import type { PgPool, PgQuery } from 'intentbook/postgres';
import { migratePostgres, postgresStore } from 'intentbook/postgres';
import pg from 'pg';
import { expect, test } from 'vitest';
import { apply, at, trade } from '../../conformance/chain.ts';
import { DOMAIN } from '../../conformance/harness.ts';
import { order, range } from '../../conformance/orders.ts';
import { manualClock } from '../../support/clock.ts';
import { temporarySchema } from '../../support/postgres.ts';

test('PostgreSQL store takes no more statements for orders that were traded before', async () => {
  await using here = await temporarySchema();
  await migratePostgres({ url: here.url, schema: here.schema });
  const store = postgresStore({ url: here.url, schema: here.schema });
  await store.open({ domain: DOMAIN, clock: manualClock() });
  const client = new pg.Client({ connectionString: here.url });
  await client.connect();
  try {
    const body = JSON.stringify({ kind: 'sell', sellAmount: '1000', buyAmount: '5' });
    const [traded, others] = [range(16), range(16).map((n) => n + 16)].map((part) =>
      part.map((n) => order(n + 1, { body })),
    );
    await store.orders.insert([...(traded ?? []), ...(others ?? [])].map((each) => ({ order: each })));
    await apply(store, 10, ...(traded ?? []).map((each, i) => trade(each, 10, at(10, i))));

    const statementsFor = async (orders: typeof traded = []) => {
      let statements = 0;
      const counting = new Proxy(client, {
        get(target, name) {
          if (name === 'query') statements++;
          const value = Reflect.get(target, name);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
      await client.query('BEGIN');
      const outcomes = await store.orders.insert(
        orders.map((each) => ({ order: each, quota: 1 })),
        { transaction: counting },
      );
      await client.query('ROLLBACK');
      expect(outcomes.map(({ status }) => status)).toEqual(orders.map(() => 'duplicate'));
      return statements;
    };
    expect(await statementsFor(traded)).toBe(await statementsFor(others));
  } finally {
    await client.end();
    await store.close();
  }
});

test('PostgreSQL store needs no statement for a lease that it holds, and two after half of its time', async () => {
  await using here = await temporarySchema();
  await migratePostgres({ url: here.url, schema: here.schema });
  const connections = new pg.Pool({ connectionString: here.url });
  let texts: string[] = [];
  const pool: PgPool = {
    async connect() {
      const client = await connections.connect();
      const counting = Object.create(client);
      counting.query = (query: PgQuery) => {
        texts.push(query.text);
        return client.query(query as unknown as pg.QueryConfig); // the part that the store uses
      };
      return counting;
    },
  };
  const clock = manualClock();
  const store = postgresStore(pool, { schema: here.schema, listen: false });
  await store.open({ domain: DOMAIN, clock });
  const acquire = async (holder: string) => {
    texts = [];
    const { status } = await store.leases.acquire({ name: 'sweep', holder, ttl: 10_000 });
    return [status, texts.length];
  };
  expect(await acquire('a')).toEqual(['held', 2]);
  clock.advance(4_999);
  expect([await acquire('a'), await acquire('b')]).toEqual([
    ['held', 0],
    ['taken', 1],
  ]);
  clock.advance(1);
  expect(await acquire('a')).toEqual(['held', 2]);
  clock.advance(9_000);
  expect(await acquire('b')).toEqual(['taken', 1]);
  await store.leases.release({ name: 'sweep', holder: 'a' });
  expect(await acquire('b')).toEqual(['held', 2]);
  // A clock that was set back: the stored time is not trusted.
  clock.set(clock.now() - 60_000);
  expect(await acquire('b')).toEqual(['held', 2]);
  await store.close();
  await connections.end();
});

import { createOrderBook } from 'intentbook';
import type { PgPool, PgQuery } from 'intentbook/postgres';
import { migratePostgres, postgresStore } from 'intentbook/postgres';
import type pg from 'pg';
import { describe, expect, test } from 'vitest';
import { createWatch } from '../../../adapters/postgres/watch.ts';
import { manualClock } from '../../support/clock.ts';
import { SEPOLIA } from '../../support/orders.ts';
import type { TemporarySchema } from '../../support/postgres.ts';
import { temporarySchema } from '../../support/postgres.ts';
import { createFakePool } from '../../support/postgres-fake.ts';

const SECOND = 1000;
const MINUTE = 60;

/** A pool that counts the statements of stores, and waits until none runs. */
function createCountingPool({ pool }: TemporarySchema) {
  let running = 0;
  const counting = {
    statements: 0,
    async connect() {
      running++;
      const client = await pool.connect();
      const own: pg.PoolClient = Object.create(client);
      return Object.assign(own, {
        query(query: PgQuery) {
          counting.statements++;
          return client.query(query as unknown as pg.QueryConfig); // the part that the store uses
        },
        release(error?: Error) {
          running--;
          client.release(error);
        },
      }) as never;
    },
    /** Resolves when at most the listening connection is in use. */
    async settle() {
      for (let quiet = 0; quiet < 20; quiet++) {
        if (running > 1) quiet = 0;
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  } satisfies PgPool & Record<string, unknown>;
  return counting;
}

describe('PostgreSQL book without orders', () => {
  test.each([
    ['that sweeps', 0],
    ['beside one that sweeps', 1],
  ])('%s runs at most two statements in a second', async (_, index) => {
    await using here = await temporarySchema();
    await migratePostgres({ url: here.url, schema: here.schema });
    const clock = manualClock(Date.now());
    const pools = [createCountingPool(here), createCountingPool(here)];
    const books = [];
    for (const pool of pools) {
      const store = postgresStore(pool, { schema: here.schema });
      const book = createOrderBook({ chainId: SEPOLIA, store, clock });
      book.on('orderCreated', () => {});
      await book.start();
      books.push(book);
      await pool.settle();
    }
    for (const pool of pools) pool.statements = 0;
    for (let second = 0; second < MINUTE; second++) {
      clock.advance(SECOND);
      for (const pool of pools) await pool.settle();
    }
    expect(pools[index]?.statements).toBeGreaterThan(0);
    expect(pools[index]?.statements).toBeLessThanOrEqual(2 * MINUTE);
    for (const book of books) await book.close();
  });
});

describe('PostgreSQL notifications of other processes', () => {
  /** Emits a notification each 50 ms for a number of seconds. @returns the number of hints. */
  async function hintsOf(seconds: number, notifications = 20 * seconds): Promise<number> {
    const clock = manualClock();
    const fake = createFakePool(() => []);
    const watch = createWatch(fake.pool, clock, { channel: 'c', signature: 's', listen: true, pollInterval: 1000 });
    let hints = 0;
    watch.add(() => hints++);
    await expect.poll(() => hints).toBe(1); // when the listener is connected
    hints = 0;
    for (let i = 0; i < notifications; i++) {
      fake.emit('notification', { channel: 'c', payload: 'other' });
      clock.advance((1000 * seconds) / notifications);
    }
    clock.advance(200);
    watch.close();
    return hints;
  }

  test('make a process read the log at once if they are few', async () => {
    expect(await hintsOf(10, 10)).toBe(10);
  });

  test('make 50 processes read the log less than 300 times in a second while 20 arrive', async () => {
    const burst = await hintsOf(2);
    expect(50 * ((await hintsOf(62)) - burst)).toBeLessThanOrEqual(60 * 300);
  });

  test('replace four of five polls while the connection listens', async () => {
    expect(await hintsOf(60, 1)).toBe(1 + 12);
  });
});

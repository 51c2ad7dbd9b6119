import { migratePostgres, postgresStore } from 'intentbook/postgres';
import type { StoreHarness } from 'intentbook/testing';
import pg from 'pg';
import { afterAll } from 'vitest';
import type { TemporarySchema } from '../../support/postgres.ts';
import { emptySchema, temporarySchema } from '../../support/postgres.ts';
import { describeConformance } from './conformance.ts';

const place = await temporarySchema();
const { url, schema } = place;
await migratePostgres({ url, schema });
/** Planner settings for small tables: a subplan that repeats for each row must return the same rows each time. */
const NESTED_LOOPS = ['hashjoin', 'mergejoin', 'hashagg', 'sort', 'material', 'memoize'].map(
  (way) => `enable_${way}=off`,
);
/** Settings of the host that must not affect the statements of the store. */
const HOST_SETTINGS = ['default_transaction_isolation=serializable', 'search_path=nowhere', ...NESTED_LOOPS];
const hostPool = new pg.Pool({
  connectionString: url,
  options: HOST_SETTINGS.map((setting) => `-c ${setting}`).join(' '),
  max: 12,
});
hostPool.on('error', () => {});

afterAll(async () => {
  await hostPool.end();
  await place[Symbol.asyncDispose]();
});

describeConformance('PostgreSQL store with its own connections', {
  traits: postgresStore({ url: 'postgres://never-opened' }).traits,
  async create() {
    return {
      connect: () => postgresStore({ url, schema }),
      async transact(work) {
        const client = new pg.Client({ connectionString: url });
        await client.connect();
        try {
          await transact(client, work);
        } finally {
          await client.end();
        }
      },
      dispose: () => emptySchema(place),
    };
  },
});

/** Returns the harness of a store on a pool of the host. */
const createPoolHarness = (pool: pg.Pool, tables: TemporarySchema): StoreHarness => ({
  traits: { name: 'postgres', durable: true, writers: 'many', verifiesBodies: true, hostTransaction: true },
  async create() {
    return {
      connect: () => postgresStore(pool, { schema: tables.schema }),
      async transact(work) {
        const client = await pool.connect();
        try {
          await transact(client, work);
        } finally {
          client.release();
        }
      },
      dispose: () => emptySchema(tables),
    };
  },
});

describeConformance('PostgreSQL store on a host pool', createPoolHarness(hostPool, place));

async function transact(client: pg.ClientBase, work: (transaction: unknown) => Promise<void>): Promise<void> {
  await client.query('BEGIN');
  try {
    await work(client);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  }
}

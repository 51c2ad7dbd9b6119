import { migratePostgres, postgresStore } from 'intentbook/postgres';
import pg from 'pg';
import { afterAll } from 'vitest';
import { emptySchema, runTransaction, temporarySchema } from '../../support/postgres.ts';
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

describeConformance('PostgreSQL store on a host pool', {
  traits: { name: 'postgres', durable: true, writers: 'many', verifiesBodies: true, hostTransaction: true },
  async create() {
    return {
      connect: () => postgresStore(hostPool, { schema }),
      async transact(work) {
        const client = await hostPool.connect();
        try {
          await runTransaction(client, work);
        } finally {
          client.release();
        }
      },
      dispose: () => emptySchema(place),
    };
  },
});

import { migratePostgres, postgresStore } from 'intentbook/postgres';
import pg from 'pg';
import { afterAll } from 'vitest';
import { emptySchema, runTransaction, temporarySchema } from '../../support/postgres.ts';
import { describeConformance } from './conformance.ts';

const place = await temporarySchema();
const { url, schema } = place;
await migratePostgres({ url, schema });
afterAll(() => place[Symbol.asyncDispose]());

describeConformance('PostgreSQL store with its own connections', {
  traits: postgresStore({ url: 'postgres://never-opened' }).traits,
  async create() {
    return {
      connect: () => postgresStore({ url, schema }),
      async transact(work) {
        const client = new pg.Client({ connectionString: url });
        await client.connect();
        try {
          await runTransaction(client, work);
        } finally {
          await client.end();
        }
      },
      dispose: () => emptySchema(place),
    };
  },
});

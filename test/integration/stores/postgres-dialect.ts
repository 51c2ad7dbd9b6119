import { migratePostgres, postgresStore } from 'intentbook/postgres';
import type { ConformanceCase } from 'intentbook/testing';
import { storeConformance } from 'intentbook/testing';
import pg from 'pg';
import { emptySchema, temporarySchema } from '../../support/postgres.ts';
import type { DialectCounts, RestrictedDatabase } from '../../support/postgres-dialect.ts';
import { createNumbers, createRestrictedPool } from '../../support/postgres-dialect.ts';

/** Share of the attempts that fail with 40001. */
const FAILING_SHARE = 0.1;

/** The conformance suite without the features that compatible databases may lack. */
export interface DialectSuite extends AsyncDisposable {
  readonly cases: readonly ConformanceCase[];
  readonly counts: DialectCounts;
}

/** Creates the suite on a restricted database. The same seed injects the same failures into the same statements. */
export async function createDialectSuite(database: RestrictedDatabase, seed: number): Promise<DialectSuite> {
  const place = await temporarySchema(database.ownerUrl);
  await migratePostgres({ url: place.url, schema: place.schema });
  await database.grant(place.schema);
  const counts: DialectCounts = { denied: [], injected: 0, attempts: 0 };
  const random = createNumbers(seed);
  const connections = new pg.Pool({ connectionString: database.url, max: 12 });
  connections.on('error', () => {});
  const cases = storeConformance({
    traits: { name: 'postgres', durable: true, writers: 'many', verifiesBodies: true, hostTransaction: false },
    exceptions: { 'declares the traits of its factory': 'a host transaction is joined with a savepoint' },
    async create() {
      const pool = createRestrictedPool(connections, { share: FAILING_SHARE, random });
      return {
        connect: () => postgresStore(pool, { schema: place.schema, listen: false }),
        async dispose() {
          counts.denied.push(...pool.counts.denied);
          counts.injected += pool.counts.injected;
          counts.attempts += pool.counts.attempts;
          await emptySchema(place);
        },
      };
    },
  });
  return {
    cases,
    counts,
    async [Symbol.asyncDispose]() {
      await connections.end();
      await place[Symbol.asyncDispose]();
    },
  };
}

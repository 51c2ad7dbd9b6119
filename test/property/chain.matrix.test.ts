import fc from 'fast-check';
import { memoryStore } from 'intentbook/memory';
import { postgresStore } from 'intentbook/postgres';
import { sqliteStore } from 'intentbook/sqlite';
import { test } from 'vitest';
import { temporaryFile } from '../integration/stores/temporary.ts';
import { emptySchema, temporarySchema } from '../support/postgres.ts';
import type { Step } from './chain-model.ts';
import { agrees, sequence } from './chain-replay.ts';

const LONG = process.env['TEST_LONG'] !== undefined;

test('memory store with reorganisations equals a store with the canonical chain only', async () => {
  const numRuns = LONG ? 20_000 : 3000;
  await fc.assert(
    fc.asyncProperty(sequence, (steps) => agrees(steps, memoryStore())),
    { numRuns },
  );
});

test('SQLite store with reorganisations equals a store with the canonical chain only', async () => {
  const numRuns = LONG ? 5000 : 100;
  const run = async (steps: readonly Step[]) => {
    using file = temporaryFile();
    await agrees(steps, sqliteStore({ path: file.path, synchronous: 'OFF' }));
  };
  await fc.assert(fc.asyncProperty(sequence, run), { numRuns });
});

test('PostgreSQL store with reorganisations equals a store with the canonical chain only', async () => {
  const numRuns = LONG ? 2000 : 60;
  await using place = await temporarySchema();
  const { pool, schema } = place;
  const run = async (steps: readonly Step[]) => {
    try {
      await agrees(steps, postgresStore(pool, { schema, migrate: true }));
    } finally {
      await emptySchema(place);
    }
  };
  await fc.assert(fc.asyncProperty(sequence, run), { numRuns });
});

import fc from 'fast-check';
import { afterAll, test } from 'vitest';
import { temporarySchema } from '../support/postgres.ts';
import { live, sequences } from './book-commands.ts';
import type { BookStorage } from './book-driver.ts';
import { memoryStorage, postgresStorage, sqliteStorage } from './book-stores.ts';

const FACTOR = Number(process.env['TEST_MODEL_FACTOR'] ?? (process.env['TEST_LONG'] ? 20 : 1));

const place = await temporarySchema();
afterAll(async () => await place[Symbol.asyncDispose]());

const MEDIA: readonly { readonly name: string; readonly runs: number; readonly make: () => BookStorage }[] = [
  { name: 'memory', runs: 150, make: memoryStorage },
  { name: 'SQLite', runs: 50, make: sqliteStorage },
  { name: 'PostgreSQL', runs: 25, make: () => postgresStorage(place) },
];

test.each(MEDIA)('book on $name matches the model after random operations', async ({ runs, make }) => {
  const property = fc.asyncProperty(sequences, async (commands) => live(commands, make()));
  await fc.assert(property, { numRuns: Math.ceil(runs * FACTOR) });
});

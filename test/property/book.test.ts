import fc from 'fast-check';
import { afterAll, test } from 'vitest';
import { temporarySchema } from '../support/postgres.ts';
import { live, lives } from './book-commands.ts';
import type { Medium } from './book-driver.ts';
import { memoryMedium, postgresMedium, sqliteMedium } from './book-stores.ts';

const FACTOR = Number(process.env['INTENTBOOK_MODEL_FACTOR'] ?? (process.env['INTENTBOOK_TEST_LONG'] ? 20 : 1));

const place = await temporarySchema();
afterAll(async () => await place[Symbol.asyncDispose]());

const MEDIA: readonly { readonly name: string; readonly runs: number; readonly make: () => Medium }[] = [
  { name: 'memory', runs: 150, make: memoryMedium },
  { name: 'SQLite', runs: 50, make: sqliteMedium },
  { name: 'PostgreSQL', runs: 25, make: () => postgresMedium(place) },
];

test.each(MEDIA)('book on $name matches the model after random operations', async ({ runs, make }) => {
  const property = fc.asyncProperty(lives, async (commands) => live(commands, make()));
  await fc.assert(property, { numRuns: Math.ceil(runs * FACTOR) });
});

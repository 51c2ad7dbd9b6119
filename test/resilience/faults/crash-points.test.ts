import { afterAll, expect, test } from 'vitest';
import { temporarySchema } from '../../support/postgres.ts';
import type { Grave } from './crash-points.ts';
import { buildVictim, countStatements, dieAt, postgresGrave, sqliteGrave } from './crash-points.ts';

/** Crash points of one script; `npm run test:long -- --suite crash-points` runs as many as its time allows. */
const POINTS = 4;

const victim = await buildVictim();
const place = await temporarySchema();
afterAll(async () => {
  victim[Symbol.dispose]();
  await place[Symbol.asyncDispose]();
});

const GRAVES: readonly { readonly name: string; readonly dig: () => Promise<Grave> }[] = [
  { name: 'SQLite', dig: async () => sqliteGrave() },
  { name: 'PostgreSQL', dig: () => postgresGrave(place) },
];

test.each(GRAVES)(
  'process killed at any statement leaves $name with all acknowledged orders and no partial write',
  async ({ dig }) => {
    const seed = 1;
    const statements = await countStatements(victim, seed, await dig());
    expect(statements).toBeGreaterThan(POINTS);
    for (let i = 0; i < POINTS; i++) {
      const grave = await dig();
      const statement = Math.floor(((i + 0.5) * statements) / POINTS);
      await dieAt(victim, grave, { seed, statement, when: grave.whens[i % grave.whens.length] ?? 'before' });
    }
  },
);

import { afterAll, expect, test } from 'vitest';
import { temporarySchema } from '../../support/postgres.ts';
import type { CrashStorage } from './crash-points.ts';
import { buildCrashChild, countStatements, crashAt, postgresGrave, sqliteGrave } from './crash-points.ts';

/** Crash points of one script; `npm run test:long -- --suite crash-points` runs as many as its time allows. */
const POINTS = 4;

const crashChild = await buildCrashChild();
const place = await temporarySchema();
afterAll(async () => {
  crashChild[Symbol.dispose]();
  await place[Symbol.asyncDispose]();
});

const STORAGES: readonly { readonly name: string; readonly dig: () => Promise<CrashStorage> }[] = [
  { name: 'SQLite', dig: async () => sqliteGrave() },
  { name: 'PostgreSQL', dig: () => postgresGrave(place) },
];

test.each(STORAGES)(
  'process killed at any statement leaves $name with all acknowledged orders and no partial write',
  async ({ dig }) => {
    const seed = 1;
    const statements = await countStatements(crashChild, seed, await dig());
    expect(statements).toBeGreaterThan(POINTS);
    for (let i = 0; i < POINTS; i++) {
      const storage = await dig();
      const statement = Math.floor(((i + 0.5) * statements) / POINTS);
      await crashAt(crashChild, storage, {
        seed,
        statement,
        when: storage.whens[i % storage.whens.length] ?? 'before',
      });
    }
  },
);

import type { Store } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { postgresStore } from 'intentbook/postgres';
import { sqliteStore } from 'intentbook/sqlite';
import { afterAll } from 'vitest';
import { DOMAIN } from '../../conformance/harness.ts';
import { manualClock } from '../../support/clock.ts';
import { emptySchema, temporarySchema } from '../../support/postgres.ts';
import { temporaryFile } from './temporary.ts';

const place = await temporarySchema();
afterAll(async () => await place[Symbol.asyncDispose]());

/** Creates a store over its own empty storage. */
export interface Subject {
  readonly name: string;
  readonly runs: number;
  create(): Promise<{ readonly store: Store; dispose(): Promise<void> }>;
}

/** Stores that are compared with the memory store, which is the oracle. */
export const SUBJECTS: readonly Subject[] = [
  {
    name: 'SQLite',
    runs: 75,
    async create() {
      const file = temporaryFile();
      const store = sqliteStore({ path: file.path, synchronous: 'OFF' });
      return { store, dispose: async () => file[Symbol.dispose]() };
    },
  },
  {
    name: 'PostgreSQL',
    runs: 50,
    async create() {
      const store = postgresStore(place.pool, { schema: place.schema, migrate: true });
      return { store, dispose: () => emptySchema(place) };
    },
  },
];

/** Applies the same operations to a store and to a memory store. */
export async function alongside(
  subject: Subject,
  compare: (store: Store, oracle: Store) => Promise<void>,
): Promise<void> {
  const oracle = memoryStore();
  const { store, dispose } = await subject.create();
  const context = { domain: DOMAIN, clock: manualClock() };
  await oracle.open(context);
  await store.open(context);
  try {
    await compare(store, oracle);
  } finally {
    await store.close();
    await dispose();
  }
}

import { memoryStore } from 'intentbook/memory';
import { postgresStore } from 'intentbook/postgres';
import { sqliteStore } from 'intentbook/sqlite';
import { temporaryFile } from '../integration/stores/temporary.ts';
import type { TemporarySchema } from '../support/postgres.ts';
import { emptySchema } from '../support/postgres.ts';
import type { BookStorage } from './book-driver.ts';

export function memoryStorage(): BookStorage {
  const store = memoryStore();
  return { writers: 1, connect: () => store, dispose: async () => {} };
}

export function sqliteStorage(): BookStorage {
  const file = temporaryFile();
  const connect = () => sqliteStore({ path: file.path, synchronous: 'OFF' });
  return { writers: 1, connect, dispose: async () => file[Symbol.dispose]() };
}

export function postgresStorage(place: TemporarySchema): BookStorage {
  const { pool, schema } = place;
  const connect = () => postgresStore(pool, { schema, migrate: true, listen: false });
  return { writers: 2, connect, dispose: () => emptySchema(place) };
}

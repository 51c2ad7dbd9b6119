import { StoreError } from 'intentbook';
import { sqliteAccountStore, sqliteStore } from 'intentbook/sqlite';
import { expect, test, vi } from 'vitest';
import { assertRuntime } from '../../../adapters/sqlite/database-driver.ts';
import { DOMAIN } from '../../conformance/harness.ts';
import { manualClock } from '../../support/clock.ts';

vi.mock('better-sqlite3', () => {
  throw new Error('Cannot find package');
});

test('SQLite driver is imported when a store is opened, and a missing one is named', async () => {
  const store = sqliteStore({ path: 'never-made.sqlite' });
  const error = await store.open({ domain: DOMAIN, clock: manualClock() }).catch((error: unknown) => error);
  if (!(error instanceof StoreError)) throw new Error('expected a StoreError');
  expect([error.code, error.message]).toEqual(['Unavailable', expect.stringContaining('better-sqlite3')]);
  await store.close();
});

test.each([
  ['orders.sqlite', 'sqliteStore: options must be { path: "orders.sqlite" }, got "orders.sqlite"'],
  [undefined, 'sqliteStore: options must be an object such as { path }, got undefined'],
  [{ file: 'x' }, 'sqliteStore: unknown option "file", use "path"'],
  [{ filename: 'x' }, 'sqliteStore: unknown option "filename", use "path"'],
  [{ path: ':memory:' }, 'sqliteStore: `path` must be a file path'],
])('SQLite store created with %j is rejected with the right call', (options, message) => {
  for (const create of [sqliteStore, sqliteAccountStore]) {
    expect(() => create(options as never)).toThrow(message);
    expect(() => create(options as never)).toThrow(TypeError);
  }
});

test('package that would end the process on this runtime is rejected with the version to install', () => {
  const message = 'better-sqlite3 13.2.0 requires Node.js 22, and this is 20.20.2: npm install better-sqlite3@12';
  expect(() => assertRuntime('13.2.0', '20.20.2')).toThrow(new StoreError('Unsupported', message));
  expect(() => assertRuntime('13.2.0', '22.1.0')).not.toThrow();
  expect(() => assertRuntime('12.11.1', '20.20.2')).not.toThrow();
});

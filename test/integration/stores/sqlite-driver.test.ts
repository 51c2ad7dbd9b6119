import { StoreError } from 'intentbook';
import { sqliteAccountStore, sqliteStore } from 'intentbook/sqlite';
import { expect, test, vi } from 'vitest';
import { assertRuntime, loadDriver } from '../../../adapters/sqlite/database-driver.ts';
import { DOMAIN } from '../../conformance/harness.ts';
import { manualClock } from '../../support/clock.ts';

const missPackage = vi.hoisted(() => () => {
  throw new Error('Cannot find package');
});
vi.mock('better-sqlite3', missPackage);
// Node.js 22.13 and later have it.
vi.mock('node:sqlite', missPackage);

test('SQLite driver is imported when a store is opened, and a missing one is named', async () => {
  const store = sqliteStore({ path: 'never-made.sqlite' });
  const error = await store.open({ domain: DOMAIN, clock: manualClock() }).catch((error: unknown) => error);
  if (!(error instanceof StoreError)) throw new Error('expected a StoreError');
  expect([error.code, error.message]).toEqual(['Unavailable', expect.stringContaining('better-sqlite3')]);
  await store.close();
});

test.each([
  ['orders.sqlite', 'options must be { path: "orders.sqlite" }, got "orders.sqlite"'],
  [undefined, 'options must be an object such as { path }, got undefined'],
  [{ file: 'x' }, 'unknown option "file", use "path"'],
  [{ filename: 'x' }, 'unknown option "filename", use "path"'],
  [{ path: 7 }, '`path` must be a file path, got 7; use MEMORY() for a store in memory'],
  [{ path: 'postgres://me:secret@db/books' }, '`path` must be a file path, got a URL'],
  [{ path: ':memory:' }, '`path` must be a file path, got ":memory:"; use MEMORY() for a store in memory'],
  [{ path: 'x', busyTimeout: -1 }, '`busyTimeout` must be an integer from 0 to 2147483647, got -1'],
  [{ path: 'x', synchronous: 'full' }, '`synchronous` must be one of OFF, NORMAL, FULL, EXTRA, got "full"'],
])(
  'SQLite stores created with %j name the called function, the expected value and the given one',
  (options, message) => {
    const functions = [
      [sqliteStore, 'memoryStore'],
      [sqliteAccountStore, 'memoryAccountStore'],
    ] as const;
    for (const [create, memory] of functions) {
      const error = new TypeError(`${create.name}: ${message.replace('MEMORY', memory)}`);
      expect(() => create(options as never)).toThrow(error); // invalid options
    }
  },
);

test('SQLite store on a handle names the prefix that it rejects', () => {
  const handle = { prepare: () => undefined };
  const message = 'sqliteStore: `prefix` must be letters, digits and "_", beginning with a letter, got "1_"';
  expect(() => sqliteStore(handle as never, { prefix: '1_' })).toThrow(new TypeError(message)); // not used
});

test('package that would end the process on this runtime is rejected with the version to install', () => {
  const message = 'better-sqlite3 13.2.0 requires Node.js 22, and this is 20.20.2: npm install better-sqlite3@12';
  expect(() => assertRuntime('13.2.0', '20.20.2')).toThrow(new StoreError('Unsupported', message));
  expect(() => assertRuntime('13.2.0', '22.1.0')).not.toThrow();
  expect(() => assertRuntime('12.11.1', '20.20.2')).not.toThrow();
});

test('SQLite driver is looked up without a working directory, which may have been deleted', async () => {
  const cwd = vi.spyOn(process, 'cwd').mockImplementation(() => {
    throw new Error('ENOENT: no such file or directory, uv_cwd');
  });
  // The package is mocked in this file, so the error is that of a missing package.
  const loaded = loadDriver().then(
    ({ kind }) => kind,
    ({ code }: StoreError) => code,
  );
  expect(['node', 'Unavailable']).toContain(await loaded);
  cwd.mockRestore();
});

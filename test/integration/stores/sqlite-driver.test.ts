import { StoreError } from 'intentbook';
import { sqliteStore } from 'intentbook/sqlite';
import { expect, test, vi } from 'vitest';
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

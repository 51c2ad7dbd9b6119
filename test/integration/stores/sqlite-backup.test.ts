import { readdirSync, writeFileSync } from 'node:fs';
import type { Store } from 'intentbook';
import { systemClock } from 'intentbook';
import { backupSqlite, sqliteAccountStore, sqliteStore } from 'intentbook/sqlite';
import { LOG_EPOCH_SIZE } from 'intentbook/store-kit';
import { expect, test } from 'vitest';
import { DOMAIN } from '../../conformance/harness.ts';
import { order } from '../../conformance/orders.ts';
import { temporaryFile } from './temporary.ts';

async function opened(path: string): Promise<Store> {
  const store = sqliteStore({ path });
  await store.open({ domain: DOMAIN, clock: systemClock });
  return store;
}

async function insert(store: Store, ...numbers: number[]): Promise<void> {
  for (const n of numbers) await store.orders.insert([{ order: order(n) }]);
}

test.each([
  ['a book', [1, 2, 3]],
  ['an empty book', []],
])('the log of a copy of %s continues in a new log epoch', async (_, stored) => {
  using file = temporaryFile();
  using copy = temporaryFile();
  const store = await opened(file.path);
  await insert(store, ...stored);
  await backupSqlite({ from: file.path, to: copy.path });
  // Readers see entries that the copy lacks.
  await insert(store, 4, 5);
  const seen = await store.events.last();
  await store.close();

  const restored = await opened(copy.path);
  await insert(restored, 6, 7);
  const missed = await restored.events.after(seen, 9);
  expect(missed.map(({ id, uid }) => [id, uid])).toEqual([
    [LOG_EPOCH_SIZE + 1, order(6).uid],
    [LOG_EPOCH_SIZE + 2, order(7).uid],
  ]);
  await restored.close();
});

test('a copy of a copy begins another log epoch', async () => {
  using file = temporaryFile();
  using first = temporaryFile();
  using second = temporaryFile();
  await (await opened(file.path)).close();
  await backupSqlite({ from: file.path, to: first.path });
  await backupSqlite({ from: first.path, to: second.path });
  const store = await opened(second.path);
  await insert(store, 1);
  expect(await store.events.last()).toBe(2 * LOG_EPOCH_SIZE + 1);
  expect(await store.retention.prunedThrough()).toBe(0); // the ids before were never used
  await store.close();
});

test('an account store is copied, too', async () => {
  using file = temporaryFile();
  using copy = temporaryFile();
  for (const path of [file.path, copy.path]) {
    const store = sqliteAccountStore({ path });
    await store.open({ clock: systemClock });
    await store.close();
    if (path === file.path) await backupSqlite({ from: file.path, to: copy.path });
  }
});

test('a copy has its name only when it is complete, and replaces the rest of an interrupted one', async () => {
  using file = temporaryFile();
  using copy = temporaryFile();
  const store = await opened(file.path);
  await insert(store, 1);
  writeFileSync(`${copy.path}.partial`, 'the rest of an interrupted backup');
  writeFileSync(`${copy.path}.partial-wal`, 'and its log');
  const listings: string[][] = [];
  const onProgress = () => void listings.push(readdirSync(copy.directory));
  await backupSqlite({ from: file.path, to: copy.path, onProgress });
  await store.close();
  expect(listings[0]).toContain('book.sqlite.partial');
  expect(listings.flat()).not.toContain('book.sqlite');
  expect(readdirSync(copy.directory)).toEqual(['book.sqlite']);
});

test('a failed copy leaves no file', async () => {
  using file = temporaryFile();
  using copy = temporaryFile();
  await (await opened(file.path)).close();
  const onProgress = () => {
    throw new Error('the terminal is closed');
  };
  await expect(backupSqlite({ from: file.path, to: copy.path, onProgress })).rejects.toThrow('the terminal is closed');
  writeFileSync(file.path, 'not a database');
  await expect(backupSqlite({ from: file.path, to: copy.path })).rejects.toMatchObject({ code: 'Unavailable' });
  expect(readdirSync(copy.directory)).toEqual([]);
});

import {
  chmodSync,
  copyFileSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import Database from 'better-sqlite3';
import type { AccountStore, Store } from 'intentbook';
import { systemClock } from 'intentbook';
import { backupSqlite, beginSqliteLogEpoch, checkSqliteFile, sqliteAccountStore, sqliteStore } from 'intentbook/sqlite';
import { getLogEpochStart } from 'intentbook/store-kit';
import { expect, test } from 'vitest';
import { notification, notify, step } from '../../conformance/accounts/notifications.ts';
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

async function openedAccounts(path: string): Promise<AccountStore> {
  const store = sqliteAccountStore({ path });
  await store.open({ clock: systemClock });
  return store;
}

/** Replaces a closed file by another one, like an operator. */
function replace(from: string, to: string): void {
  for (const suffix of ['-wal', '-shm']) rmSync(`${to}${suffix}`, { force: true });
  copyFileSync(from, to);
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

  const before = getLogEpochStart(0, Date.now());
  const restored = await opened(copy.path);
  await insert(restored, 6, 7);
  const missed = await restored.events.after(seen, 9);
  expect(missed.map(({ uid }) => uid)).toEqual([order(6).uid, order(7).uid]);
  const [first = 0, second] = missed.map(({ id }) => id);
  expect(first).toBeGreaterThan(before);
  expect(second).toBe(first + 1);
  expect(await restored.retention.prunedThrough()).toBe(0); // the ids before were never used
  await restored.close();
  const again = await opened(copy.path);
  await insert(again, 8);
  expect(await again.events.last()).toBe(first + 2); // the same log epoch
  await again.close();
});

test('a backup of several steps has the state at its start, while another connection writes', async () => {
  using file = temporaryFile();
  using copy = temporaryFile();
  const store = await opened(file.path);
  const writer = new Database(file.path);
  writer.exec('CREATE TABLE filler AS SELECT zeroblob(12000000) AS data');
  let steps = 0;
  const onProgress = () => {
    if (++steps > 9) throw new Error('the copy has begun again');
    writer.exec('INSERT INTO filler VALUES (1)');
  };
  await backupSqlite({ from: file.path, to: copy.path, onProgress });
  expect(steps).toBeGreaterThan(2);
  const copied = new Database(copy.path);
  expect(copied.prepare('SELECT count(*) FROM filler').pluck().get()).toBe(1);
  copied.close();
  // The snapshot has ended, so the log can begin again.
  expect(writer.pragma('wal_checkpoint(TRUNCATE)')).toEqual([{ busy: 0, log: 0, checkpointed: 0 }]);
  writer.close();
  await store.close();
});

test('a backup with relative paths is complete although the working directory changes', async () => {
  using file = temporaryFile();
  const directory = process.cwd();
  const store = await opened(file.path);
  await insert(store, 1);
  await store.close();
  process.chdir(file.directory);
  try {
    const onProgress = () => process.chdir(directory);
    await backupSqlite({ from: basename(file.path), to: 'relative.sqlite', onProgress });
  } finally {
    process.chdir(directory);
  }
  expect(readdirSync(file.directory).filter((name) => name.startsWith('relative'))).toEqual(['relative.sqlite']);
});

test('each restore of one backup begins another log epoch, also after the backup was opened', async () => {
  using file = temporaryFile();
  using backup = temporaryFile();
  const store = await opened(file.path);
  await insert(store, 1);
  await store.close();
  await backupSqlite({ from: file.path, to: backup.path });
  let seen = 1;
  for (const n of [2, 3, 4]) {
    await (await opened(backup.path)).close(); // like the command verify
    replace(backup.path, file.path);
    const restored = await opened(file.path);
    await insert(restored, n);
    const missed = await restored.events.after(seen, 9);
    expect(missed.map(({ uid }) => uid)).toEqual([order(n).uid]);
    expect(missed[0]?.id).toBeGreaterThan(seen + 1); // the hole is the gap of a reader
    seen = await restored.events.last();
    await restored.close();
  }
});

test.each([
  ['an account log', [1, 2]],
  ['an empty account log', []],
])('each restore of one backup of %s begins another log epoch', async (_, stored) => {
  using file = temporaryFile();
  using backup = temporaryFile();
  const accounts = await openedAccounts(file.path);
  for (const n of stored) await step(accounts, notify(notification(n)));
  await backupSqlite({ from: file.path, to: backup.path });
  await step(accounts, notify(notification(3)));
  let seen = await accounts.notifications.last();
  await accounts.close();
  for (const n of [4, 6]) {
    replace(backup.path, file.path);
    const restored = await openedAccounts(file.path);
    await step(restored, notify(notification(n)));
    await step(restored, notify(notification(n + 1)));
    const missed = (await restored.notifications.after(seen, 9)).map(({ id }) => id);
    const [first = 0] = missed;
    expect(first).toBeGreaterThan(seen + 1);
    expect(missed).toEqual([first, first + 1]);
    seen = await restored.notifications.last();
    await restored.close();
  }
});

test('a file that was copied by other means begins a log epoch on request', async () => {
  using file = temporaryFile();
  using copy = temporaryFile();
  const store = await opened(file.path);
  await insert(store, 1);
  await expect(beginSqliteLogEpoch({ path: file.path })).rejects.toMatchObject({ code: 'WriterActive' });
  await store.close();
  copyFileSync(file.path, copy.path);
  await beginSqliteLogEpoch({ path: copy.path });
  const restored = await opened(copy.path);
  await insert(restored, 2);
  expect((await restored.events.after(0, 9)).map(({ id }) => id > 2)).toEqual([false, true]);
  await restored.close();
  await expect(beginSqliteLogEpoch({ path: `${copy.path}.missing` })).rejects.toThrow('does not exist');
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

test('of two backups to one file, one fails and the file is the copy of the other', async () => {
  using file = temporaryFile();
  using copy = temporaryFile();
  const store = await opened(file.path);
  await insert(store, 1);
  await store.close();
  const first = backupSqlite({ from: file.path, to: copy.path });
  const busy = { code: 'Unavailable', message: `another backup writes the file "${copy.path}"` };
  await expect(backupSqlite({ from: file.path, to: copy.path })).rejects.toMatchObject(busy);
  await first;
  await expect(backupSqlite({ from: file.path, to: copy.path })).rejects.toThrow('already exists');
  await checkSqliteFile({ path: copy.path });
  expect(readdirSync(copy.directory)).toEqual([basename(copy.path)]);
  rmSync(copy.path);
  await backupSqlite({ from: file.path, to: copy.path });
});

test('a backup whose partial file another process replaces fails, and leaves that file', async () => {
  using file = temporaryFile();
  using copy = temporaryFile();
  const store = await opened(file.path);
  await insert(store, 1);
  await store.close();
  const partial = `${copy.path}.partial`;
  const onProgress = () => {
    rmSync(partial);
    writeFileSync(partial, 'of another process');
  };
  const busy = { code: 'Unavailable', message: `another backup writes the file "${copy.path}"` };
  await expect(backupSqlite({ from: file.path, to: copy.path, onProgress })).rejects.toMatchObject(busy);
  expect(readFileSync(partial, 'utf8')).toBe('of another process');
  expect(readdirSync(copy.directory)).toEqual([basename(partial)]);
});

test('a copy has the permissions of the original, also while it is written', async () => {
  using file = temporaryFile();
  using copy = temporaryFile();
  const store = await opened(file.path);
  await insert(store, 1);
  chmodSync(file.path, 0o640);
  const modes: number[] = [];
  const getMode = (path: string) => statSync(path).mode & 0o777;
  await backupSqlite({ from: file.path, to: copy.path, onProgress: () => modes.push(getMode(`${copy.path}.partial`)) });
  await store.close();
  expect([...new Set(modes), getMode(copy.path)]).toEqual([0o640, 0o640]);
});

test('a database of another application is not copied', async () => {
  using file = temporaryFile();
  using copy = temporaryFile();
  const other = new Database(file.path);
  other.exec('CREATE TABLE secrets (id INTEGER PRIMARY KEY)');
  other.close();
  const message = `the file "${file.path}" is the database of another application`;
  await expect(backupSqlite({ from: file.path, to: copy.path })).rejects.toThrow(message);
  expect(readdirSync(copy.directory)).toEqual([]);
});

test('a file without a book is named, and not changed', async () => {
  using file = temporaryFile();
  using copy = temporaryFile();
  writeFileSync(file.path, ''); // as a server leaves it that ends before its first transaction
  const expected = { code: 'Unavailable', message: `the file "${file.path}" is not the database of a book` };
  await expect(backupSqlite({ from: file.path, to: copy.path })).rejects.toMatchObject(expected);
  await expect(beginSqliteLogEpoch({ path: file.path })).rejects.toMatchObject(expected);
  expect(readdirSync(copy.directory)).toEqual([]);
  expect(statSync(file.path).size).toBe(0);
});

test('a file that does not exist is named', async () => {
  using copy = temporaryFile();
  const from = join(copy.directory, 'missing.sqlite');
  const message = `the file "${from}" does not exist`;
  await expect(backupSqlite({ from, to: copy.path })).rejects.toMatchObject({ code: 'Unavailable', message });
  expect(readdirSync(copy.directory)).toEqual([]);
});

test('a file that cannot be reached is not reported as missing', async () => {
  using file = temporaryFile();
  const path = join(file.directory, 'loop.sqlite');
  symlinkSync(path, path);
  const calls = [
    () => backupSqlite({ from: path, to: file.path }),
    () => checkSqliteFile({ path }),
    () => beginSqliteLogEpoch({ path }),
    () => sqliteStore({ path, readOnly: true }).open({ domain: DOMAIN, clock: systemClock }),
  ];
  for (const call of calls) {
    const expected = { code: 'Unavailable', message: `the file "${path}" cannot be read (ELOOP)` };
    await expect(call()).rejects.toMatchObject(expected);
  }
});

test('a folder that does not exist is named', async () => {
  using file = temporaryFile();
  await (await opened(file.path)).close();
  const to = join(file.directory, 'missing', 'copy.sqlite');
  const backup = backupSqlite({ from: file.path, to });
  await expect(backup).rejects.toMatchObject({ code: 'Unavailable' });
  await expect(backup).rejects.toThrow(`ENOENT: no such file or directory, open '${to}.partial'`);
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

test.each([
  [{ from: 'a.sqlite' }, 'backupSqlite: `to` must be a file path, got undefined'],
  [{ from: '', to: 'b.sqlite' }, 'backupSqlite: `from` must be a file path, got ""'],
  [{ from: 'a.sqlite', to: 'b.sqlite', path: 'c' }, 'unknown option "path"'],
])('a backup rejects the options %j and creates no file', async (options, message) => {
  const before = readdirSync('.');
  const backup = backupSqlite(options as Parameters<typeof backupSqlite>[0]);
  await expect(backup).rejects.toThrow(message);
  await expect(backup).rejects.toBeInstanceOf(TypeError);
  expect(readdirSync('.')).toEqual(before);
});

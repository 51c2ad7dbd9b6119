import { spawnSync } from 'node:child_process';
import { linkSync, writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { sqliteAccountStore, sqliteStore } from 'intentbook/sqlite';
import { expect, test } from 'vitest';
import { DOMAIN } from '../../conformance/harness.ts';
import { order, PLACED_AT } from '../../conformance/orders.ts';
import { manualClock } from '../../support/clock.ts';
import { temporaryFile } from './temporary.ts';

test('SQLite store caches the end of the log while no other process can write', async () => {
  using file = temporaryFile();
  const { path } = file;
  const clock = manualClock(PLACED_AT);
  const store = sqliteStore({ path });
  await store.open({ domain: DOMAIN, clock });
  await store.orders.insert([{ order: order(1) }]);
  expect(await store.events.last()).toBe(1);

  // Simulates a writer that takes over an expired lease while this process is suspended.
  const other = new Database(path);
  other.exec('INSERT INTO events (type, uid, owner, at) SELECT type, uid, owner, at FROM events WHERE id = 1');
  other.close();
  expect(await store.events.after(1, 10)).toEqual([]);
  clock.set(PLACED_AT + 10_000);
  expect((await store.events.after(1, 10)).map(({ id }) => id)).toEqual([2]);
  expect(await store.events.last()).toBe(2);
  await store.close();
});

test('SQLite store discards the cached end of the log after a rollback', async () => {
  using file = temporaryFile();
  const store = sqliteStore({ path: file.path });
  await store.open({ domain: DOMAIN, clock: manualClock(PLACED_AT) });
  await store.orders.insert([{ order: order(1) }]);
  const broken = { ...order(2), body: 'no JSON' };
  await expect(store.orders.insert([{ order: order(3) }, { order: broken }])).rejects.toThrow();
  expect(await store.events.last()).toBe(1);
  await store.orders.insert([{ order: order(4) }]);
  expect(await store.events.after(1, 10)).toHaveLength(1);
  await store.close();
});

test('SQLite store refuses a file with two names, which would have two logs', async () => {
  using file = temporaryFile();
  const store = sqliteStore({ path: file.path });
  await store.open({ domain: DOMAIN, clock: manualClock(PLACED_AT) });
  await store.close();
  linkSync(file.path, `${file.path}.link`);
  const again = sqliteStore({ path: `${file.path}.link` });
  await expect(again.open({ domain: DOMAIN, clock: manualClock(PLACED_AT) })).rejects.toThrow(
    'has 2 names (hard links), which do not share a write-ahead log',
  );
  const handle = new Database(`${file.path}.link`);
  await expect(sqliteStore(handle).open({ domain: DOMAIN, clock: manualClock(PLACED_AT) })).rejects.toThrow(
    'has 2 names (hard links)',
  );
  handle.close();
  const accounts = sqliteAccountStore({ path: `${file.path}.link` });
  await expect(accounts.open({ clock: manualClock(PLACED_AT) })).rejects.toThrow('has 2 names (hard links)');
});

/** A container or a user without the privilege cannot mount. */
const canMount = process.platform === 'linux' && spawnSync('unshare', ['--mount', 'true']).status === 0;

test.skipIf(!canMount)('SQLite store refuses a file that is mounted without its folder', () => {
  using file = temporaryFile();
  const mounted = `${file.path} mounted`;
  for (const path of [file.path, mounted]) writeFileSync(path, '');
  const program = `
    import { sqliteStore } from 'intentbook/sqlite';
    const store = sqliteStore({ path: process.argv[1] });
    await store.open({ domain: ${JSON.stringify(DOMAIN)}, clock: { now: Date.now, after: () => () => {} } });
  `;
  const script = 'mount --bind "$1" "$2" && exec "$3" --input-type=module --eval "$4" "$2"';
  const args = ['--mount', 'sh', '-c', script, 'sh', file.path, mounted, process.execPath, program];
  const { status, stderr } = spawnSync('unshare', args, { encoding: 'utf8', cwd: import.meta.dirname });
  expect([status, stderr]).toEqual([
    1,
    expect.stringContaining('is a mount, and its write-ahead log would not be in it'),
  ]);
});

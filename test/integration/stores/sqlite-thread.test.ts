import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import type { Store } from 'intentbook';
import { systemClock } from 'intentbook';
import { sqliteStore } from 'intentbook/sqlite';
import type { StoreHarness } from 'intentbook/testing';
import { expect, test, vi } from 'vitest';
import { createThreadedStore } from '../../../adapters/sqlite/threaded-store.ts';
import { DOMAIN } from '../../conformance/harness.ts';
import { order } from '../../conformance/orders.ts';
import { describeConformance } from './conformance.ts';
import { temporaryFile } from './temporary.ts';

// Threads run the built file, because Node.js loads no TypeScript.
const WORKER = new URL('../../../dist/sqlite-worker.js', import.meta.url);
const createStore = (path: string) =>
  createThreadedStore({ kind: 'file', path, synchronous: 'FULL', busyTimeout: 1000 }, WORKER);

const harness: StoreHarness = {
  traits: sqliteStore({ path: 'never-opened' }).traits,
  async create() {
    const file = temporaryFile();
    return {
      connect: () => createStore(file.path),
      dispose: async () => file[Symbol.dispose](),
    };
  },
};
// Reads and the rules behind the writes are those of the store without a thread.
describeConformance('SQLite store with a write thread', harness, ['opening', 'events', 'app data', 'auctions']);

/** Runs `work` and returns the thread that it has sent a message to. */
function findThread(work: () => void): Worker | undefined {
  using messages = vi.spyOn(Worker.prototype, 'postMessage');
  work();
  const [thread] = messages.mock.contexts;
  return thread instanceof Worker ? thread : undefined;
}

async function open(path: string): Promise<Store> {
  const store = createStore(path);
  await store.open({ domain: DOMAIN, clock: systemClock });
  return store;
}

test('write thread writes in the order of the calls, and reads see each acknowledged write', async () => {
  using file = temporaryFile();
  const store = await open(file.path);
  const ends: number[] = [];
  const insert = async (i: number) => {
    await store.orders.insert([{ order: order(i) }]);
    ends.push(await store.events.last());
    expect(await store.orders.get([order(i).uid])).toHaveLength(1);
  };
  await Promise.all(Array.from({ length: 40 }, (_, i) => insert(i + 1)));
  expect(ends.every((end, i) => end > i)).toBe(true);
  const events = await store.events.after(0, 100);
  expect(events.map(({ uid }) => uid)).toEqual(Array.from({ length: 40 }, (_, i) => order(i + 1).uid));
  await store.close();
});

test('the end of the log never lags behind a row that a read has returned', async () => {
  using file = temporaryFile();
  const store = await open(file.path);
  const inserts = Promise.all(Array.from({ length: 60 }, (_, i) => store.orders.insert([{ order: order(i + 1) }])));
  let found = 0;
  // Reads run between the commits of the thread, before their results have arrived.
  while (found < 60) {
    const rows = await store.orders.list({ limit: 100 });
    expect(await store.events.last()).toBeGreaterThanOrEqual(rows.length);
    expect(rows.length).toBeGreaterThanOrEqual(found);
    found = rows.length;
    await new Promise(setImmediate);
  }
  await inserts;
  await store.close();
});

test('an insert has an unknown outcome if the write thread ends, and later writes are rejected', async () => {
  using file = temporaryFile();
  const store = await open(file.path);
  await store.orders.insert([{ order: order(1) }]);
  // Another writer delays the insert, so that it runs when the thread ends.
  const other = new Database(file.path);
  other.exec('BEGIN IMMEDIATE');
  let insert: Promise<unknown> | undefined;
  const thread = findThread(() => {
    insert = store.orders.insert([{ order: order(2) }]);
  });
  const cancel = store.orders.cancel({ uids: [order(1).uid], now: 0, cancelledAt: 0 });
  const rejected = expect(cancel).rejects.toMatchObject({ code: 'OutcomeUnknown' });
  // A thread that is terminated in the driver would abort the process, so only its end is reported.
  thread?.emit('error', new Error('out of memory'));
  other.exec('ROLLBACK');
  other.close();
  expect(await insert).toEqual([{ status: 'unknown' }]);
  await rejected;
  await expect(store.orders.insert([{ order: order(3) }])).rejects.toMatchObject({ code: 'WriterLost' });
  await expect(store.check()).rejects.toMatchObject({ code: 'WriterLost' });
  expect(await store.orders.get([order(1).uid])).toHaveLength(1);
  await expect(store.close()).rejects.toMatchObject({
    code: 'WriterLost',
    message: expect.stringContaining('out of memory'),
  });
});

test('stores share one thread, in which the queue of one does not delay the others', async () => {
  using locked = temporaryFile();
  using file = temporaryFile();
  const source = { kind: 'file', path: locked.path, synchronous: 'FULL', busyTimeout: 50 } as const;
  const slow = createThreadedStore(source, WORKER);
  await slow.open({ domain: DOMAIN, clock: systemClock });
  const store = await open(file.path);
  const other = new Database(locked.path);
  other.exec('BEGIN IMMEDIATE');
  const finished: string[] = [];
  const checks: Promise<unknown>[] = [];
  const thread = findThread(() => {
    for (let i = 0; i < 5; i++) checks.push(slow.check().catch(() => finished.push(`locked ${i}`)));
  });
  let insert: Promise<unknown> | undefined;
  const same = findThread(() => {
    insert = store.orders.insert([{ order: order(1) }]).then(() => finished.push('inserted'));
  });
  expect(same).toBe(thread);
  await Promise.all([...checks, insert]);
  // The thread may receive the insert after it has begun two of the five calls.
  expect(finished.indexOf('inserted')).toBeLessThan(4);
  expect(finished).toHaveLength(6);
  other.exec('ROLLBACK');
  other.close();
  await slow.close();
  // The thread of the other store is still there.
  await store.check();
  await store.close();
});

test('the store can be opened again after the thread has ended, with every acknowledged order', async () => {
  using file = temporaryFile();
  const first = await open(file.path);
  await first.orders.insert([{ order: order(1) }]);
  let check: Promise<unknown> | undefined;
  const thread = findThread(() => {
    check = first.check();
  });
  await check;
  await thread?.terminate();
  await first.close().catch(() => {});
  // The lease names a thread of this running process, so it ends when it expires.
  const database = new Database(file.path);
  database.exec('DELETE FROM lease');
  database.close();
  const second = await open(file.path);
  expect(await second.orders.get([order(1).uid])).toHaveLength(1);
  await second.close();
});

test('errors of the thread keep their code, message and cause', async () => {
  using file = temporaryFile();
  const store = await open(file.path);
  const broken = { ...order(1), body: 'no JSON' };
  await expect(store.orders.insert([{ order: broken }])).rejects.toMatchObject({
    name: 'StoreError',
    code: 'InvalidValue',
    message: expect.stringMatching(/^the SQLite store cannot insert orders: /),
    cause: expect.objectContaining({ message: expect.any(String) }),
  });
  const transaction = {};
  await expect(store.orders.insert([{ order: order(1) }], { transaction })).rejects.toMatchObject({
    code: 'Unsupported',
  });
  await store.close();
});

test('a thread that cannot start is reported as unavailable', async () => {
  const source = { kind: 'file', path: 'never-opened', synchronous: 'FULL', busyTimeout: 0 } as const;
  const store = createThreadedStore(source, new URL('./no-such-file.js', import.meta.url));
  await expect(store.open({ domain: DOMAIN, clock: systemClock })).rejects.toMatchObject({
    code: 'Unavailable',
    message: expect.stringContaining('cannot start: Cannot find module'),
  });
});

test('an open store with an idle write thread does not keep the process running', () => {
  using file = temporaryFile();
  const script = `
    import { systemClock } from './dist/index.js';
    import { sqliteStore } from './dist/sqlite.js';
    const store = sqliteStore({ path: ${JSON.stringify(file.path)}, writeThread: true });
    await store.open({ domain: ${JSON.stringify(DOMAIN)}, clock: systemClock });
    await store.check();
    console.log('checked');`;
  const cwd = new URL('../../..', import.meta.url);
  const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd,
    timeout: 60_000,
  });
  expect([String(stdout), status]).toEqual(['checked\n', 0]);
});

const permissions = process.allowedNodeEnvironmentFlags.has('--permission')
  ? '--permission'
  : '--experimental-permission';

test.each<[name: string, flags: string[], threads: number]>([
  ['has a write thread with more than one processor', [], availableParallelism() > 1 ? 1 : 0],
  [
    'writes without a thread if the process may start none',
    [permissions, '--allow-addons', '--allow-fs-read=*', '--allow-fs-write=*'],
    0,
  ],
])('a store of a file without options %s', (_, flags, threads) => {
  using file = temporaryFile();
  const script = `
    import { Worker } from 'node:worker_threads';
    import { systemClock } from './dist/index.js';
    import { sqliteStore } from './dist/sqlite.js';
    const used = new Set();
    const { postMessage } = Worker.prototype;
    Worker.prototype.postMessage = function (...parameters) {
      used.add(this);
      return postMessage.apply(this, parameters);
    };
    const store = sqliteStore({ path: ${JSON.stringify(file.path)} });
    await store.open({ domain: ${JSON.stringify(DOMAIN)}, clock: systemClock });
    await store.check();
    await store.close();
    console.log(used.size);`;
  const cwd = new URL('../../..', import.meta.url);
  const { stdout } = spawnSync(process.execPath, [...flags, '--input-type=module', '-e', script], { cwd });
  expect(String(stdout)).toBe(`${threads}\n`);
});

test('sqliteStore rejects a write thread that is not a boolean, and one for a handle of the host', () => {
  const options = { path: 'x', writeThread: 'yes' as unknown as boolean };
  expect(() => sqliteStore(options)).toThrow('`writeThread` must be true, false or "auto", got "yes"');
  const database = new Database(':memory:');
  const handleOptions = { writeThread: true } as object;
  expect(() => sqliteStore(database, handleOptions)).toThrow('writeThread');
  database.close();
});

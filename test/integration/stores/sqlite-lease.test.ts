import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync, symlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import type { Store } from 'intentbook';
import { StoreError } from 'intentbook';
import { checkSqliteFile, sqliteStore } from 'intentbook/sqlite';
import { build } from 'tsup';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { getOwnIdentity } from '../../../adapters/sqlite/process-identity.ts';
import { DOMAIN } from '../../conformance/harness.ts';
import { order, place } from '../../conformance/orders.ts';
import { quote } from '../../conformance/quotes.ts';
import type { ManualClock } from '../../support/clock.ts';
import { manualClock } from '../../support/clock.ts';
import type { TemporaryFile } from './temporary.ts';
import { temporaryFile } from './temporary.ts';

let file: TemporaryFile;
let clock: ManualClock;
const stores: Store[] = [];

beforeEach(() => {
  file = temporaryFile();
  clock = manualClock();
});

afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
  file[Symbol.dispose]();
});

async function open(busyTimeout = 1000): Promise<Store> {
  const store = sqliteStore({ path: file.path, busyTimeout });
  stores.push(store);
  await store.open({ domain: DOMAIN, clock });
  return store;
}

/** Reads or changes the file like another program. */
function withFile<T>(work: (database: Database.Database) => T): T {
  const database = new Database(file.path);
  try {
    return work(database);
  } finally {
    database.close();
  }
}

/** Reads with a second store of this process. */
async function readOnce(): Promise<void> {
  const reader = sqliteStore({ path: file.path, readOnly: true });
  await reader.open({ domain: DOMAIN, clock });
  await reader.close();
}

/** Returns the locks of the file that the system knows, without their numbers. */
function readLocks(): readonly (string | undefined)[] {
  const { ino } = statSync(file.path);
  const lines = readFileSync('/proc/locks', 'latin1').split('\n');
  return lines.filter((line) => line.includes(`:${ino} `)).map((line) => line.split(': ')[1]);
}

interface LeaseRow {
  token: string;
  host: string;
  pid: number;
  started: string | null;
  expires: number;
}

const readLease = () => withFile((database) => database.prepare('SELECT * FROM lease').get()) as LeaseRow | undefined;

/** Replaces the lease in the file by one of another writer. */
async function leaveLease(changes: Partial<LeaseRow>): Promise<void> {
  const store = await open();
  const lease = { ...readLease(), ...changes };
  await store.close();
  withFile((database) =>
    database
      .prepare('INSERT INTO lease VALUES (1, :token, :host, :pid, :started, :expires)')
      .run({ token: 'other', ...lease }),
  );
}

/** Returns the start time of a process, with the scope of this process. */
const startOf = (pid: number) => {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return `${scope()} ${text.slice(text.lastIndexOf(')') + 2).split(' ')[19]}`;
};

const scope = () => getOwnIdentity().started?.replace(/ \d+$/, '') ?? '';

async function rejection(opening: Promise<unknown>): Promise<StoreError> {
  const error = await opening.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(error instanceof StoreError)) throw new Error('expected a StoreError');
  return error;
}

/** A process that opens the store until it is killed. */
async function writerProcess() {
  await build({
    entry: [fileURLToPath(new URL('./writer.ts', import.meta.url))],
    outDir: file.directory,
    format: 'esm',
    config: false,
    silent: true,
    // Sources of the suite, not the built package.
    noExternal: [/^intentbook/],
    external: ['better-sqlite3'],
    outExtension: () => ({ js: '.mjs' }),
  });
  symlinkSync(fileURLToPath(new URL('../../../node_modules', import.meta.url)), join(file.directory, 'node_modules'));
  const child = fork(join(file.directory, 'writer.mjs'), [
    file.path,
    String(DOMAIN.chainId),
    DOMAIN.settlementContract,
  ]);
  const [message] = await once(child, 'message');
  expect(message).toBe('open');
  return child;
}

describe('SQLite writer of another process', () => {
  test('is named with process and host while it lives, and replaced at once after kill -9', async () => {
    const child = await writerProcess();
    const error = await rejection(open());
    expect(error.code).toBe('WriterActive');
    expect(error.message).toContain(`process ${child.pid} on host ${hostname()}`);

    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
    // Its lease is in the file and has not expired.
    expect(readLease()?.expires).toBeGreaterThan(Date.now());
    clock.set(Date.now());
    await place(await open(), order(1));
  });

  test('on another host is replaced after its lease expires', async () => {
    await leaveLease({ host: 'elsewhere', pid: 7, expires: clock.now() + 10_000 });
    expect((await rejection(open())).message).toContain('process 7 on host elsewhere');
    clock.advance(9_999);
    expect((await rejection(open())).code).toBe('WriterActive');
    clock.advance(1);
    await place(await open(), order(1));
  });

  test('on another host, whose clock was ahead, is replaced if it does not renew its lease', async () => {
    const HOUR = 3_600_000;
    await leaveLease({ host: 'elsewhere', pid: 7, expires: clock.now() + HOUR });
    for (let n = 1; n < 5; n++) {
      expect((await rejection(open())).code).toBe('WriterActive');
      clock.advance(2_500);
      withFile((database) => database.prepare('UPDATE lease SET expires = ?').run(clock.now() + HOUR));
    }
    expect((await rejection(open())).code).toBe('WriterActive');
    clock.advance(4_999);
    expect((await rejection(open())).code).toBe('WriterActive');
    clock.advance(1);
    await place(await open(), order(1));
  });

  test('on another host is replaced after the own clock was corrected', async () => {
    const HOUR = 3_600_000;
    await leaveLease({ host: 'elsewhere', pid: 7, expires: clock.now() + 2 * HOUR });
    clock.jump(HOUR);
    expect((await rejection(open())).code).toBe('WriterActive');
    clock.jump(-HOUR);
    expect((await rejection(open())).code).toBe('WriterActive');
    clock.advance(5_000);
    await place(await open(), order(1));
  });

  test.runIf(process.platform === 'linux')('with the process id of a dead one does not count', async () => {
    await leaveLease({ pid: process.ppid, started: `${startOf(process.ppid)}0` });
    await expect(open()).resolves.toBeDefined();
  });

  test.runIf(process.platform === 'linux')('with a matching start time counts', async () => {
    await leaveLease({ pid: process.ppid, started: startOf(process.ppid) });
    expect((await rejection(open())).code).toBe('WriterActive');
  });

  test('counts if its start time cannot be compared', async () => {
    await leaveLease({ pid: process.ppid, started: null });
    expect((await rejection(open())).code).toBe('WriterActive');
  });

  /** A process id that no process has. */
  const FREE = 2 ** 30;

  test.runIf(process.platform === 'linux').each([
    ['of another namespace', () => startOf(process.pid).replace(/pid:\[\d+\]/, 'pid:[1]')],
    ['of another namespace of time', () => startOf(process.pid).replace(/time:\S+/, 'time:[1]')],
    ['of another boot', () => `other-${startOf(process.pid)}`],
    ['of an unknown namespace', () => null],
    ['of an earlier form', () => '12345'],
  ])('that cannot be seen, because its process id is %s, counts until its lease expires', async (_, started) => {
    for (const pid of [FREE, process.pid]) {
      await leaveLease({ pid, started: started(), expires: clock.now() + 10_000 });
      clock.advance(9_999);
      const error = await rejection(open());
      expect(error.message).toContain(`process ${pid} on host ${hostname()}`);
      clock.advance(1);
      const store = await open();
      await place(store, order(pid === FREE ? 1 : 2));
      await store.close();
    }
  });
});

describe('SQLite lease with the own process id', () => {
  test.runIf(process.platform === 'linux')('is stale if its process was started at another time', async () => {
    await leaveLease({ started: `${scope()} 1` });
    await expect(open()).resolves.toBeDefined();
  });

  test.runIf(process.platform === 'linux')(
    'counts if its start time matches, because it can belong to another thread',
    async () => {
      await leaveLease({});
      expect((await rejection(open())).code).toBe('WriterActive');
    },
  );
});

describe('SQLite writer lease', () => {
  test('is renewed while the store is open', async () => {
    await open();
    for (let i = 0; i < 20; i++) {
      clock.advance(5_000);
      expect(readLease()?.expires).toBeGreaterThan(clock.now());
    }
    expect((await rejection(open())).code).toBe('WriterActive');
  });

  test('is acquired and renewed by commits that do not wait for the disk, as those of orders do and those of quotes do not', async () => {
    const database = new Database(file.path);
    database.pragma('journal_mode = WAL');
    database.pragma('synchronous = FULL');
    const levels: unknown[] = [];
    const exec = database.exec.bind(database);
    vi.spyOn(database, 'exec').mockImplementation((sql) => {
      if (sql === 'COMMIT') levels.push(database.pragma('synchronous', { simple: true }));
      return exec(sql);
    });
    const store = sqliteStore(database);
    stores.push(store);
    await store.open({ domain: DOMAIN, clock });
    expect([levels.length > 2, new Set(levels)]).toEqual([true, new Set([1])]);
    levels.length = 0;
    clock.advance(3_000);
    await place(store, order(1));
    await store.quotes.insert(quote(1));
    clock.advance(3_000);
    expect(levels).toEqual([1, 2, 1, 1]);
    expect(database.pragma('synchronous', { simple: true })).toBe(2);
    await store.close();
    database.close();
  });

  test('is released with the store, and its timer is stopped', async () => {
    const store = await open();
    expect(readLease()).toMatchObject({ host: hostname(), pid: process.pid });
    await store.close();
    expect(readLease()).toBeUndefined();
    expect(clock.pending).toBe(0);
  });

  // A process that closes any descriptor of a file releases its own locks of it. Another process then deletes the log.
  test.runIf(process.platform === 'linux').each([
    ['a check of the file', () => checkSqliteFile({ path: file.path })],
    ['a store that reads', () => readOnce()],
    ['a second book', async () => void (await rejection(open()))],
  ])('keeps the locks of its file after %s in the same process', async (_, use) => {
    const store = await open();
    await place(store, order(1));
    const locks = readLocks();
    expect(locks.length).toBeGreaterThan(0);
    await use();
    expect(readLocks()).toEqual(locks);
  });

  test('survives a clock that steps back', async () => {
    const store = await open();
    clock.set(clock.now() - 3_600_000);
    await place(store, order(1));
    clock.advance(10_000);
    await place(store, order(2));
    expect(await store.orders.list({ limit: 3 })).toHaveLength(2);
  });

  test('fails the health check until it is renewed', async () => {
    const store = await open(0);
    const other = new Database(file.path);
    try {
      other.exec('BEGIN IMMEDIATE');
      clock.advance(3_000);
      other.exec('COMMIT');
      expect((await rejection(store.check())).message).toContain('another process holds its lock');
      clock.advance(3_000);
      await store.check();
    } finally {
      other.close();
    }
  });
});

describe('SQLite writer that lost its lease', () => {
  async function overtaken(): Promise<Store> {
    const store = await open();
    await place(store, order(1));
    withFile((database) => database.exec("UPDATE lease SET token = 'successor'"));
    return store;
  }

  test('writes nothing more', async () => {
    const store = await overtaken();
    for (const write of [
      () => store.orders.insert([{ order: order(2) }]),
      () => store.orders.cancel({ uids: [order(1).uid], now: 0, cancelledAt: 0 }),
      () => store.appData.put({ hash: order(1).appData, document: '{}' }),
      () => store.check(),
    ]) {
      expect((await rejection(write())).code).toBe('WriterLost');
    }
    expect(await store.events.last()).toBe(1);
    expect((await store.orders.get([order(1).uid, order(2).uid])).map(({ state }) => state)).toEqual(['open']);
  });

  test('neither renews nor releases the lease of its successor', async () => {
    const store = await overtaken();
    const before = readLease();
    clock.advance(60_000);
    expect(readLease()).toEqual(before);
    expect(clock.pending).toBe(0);
    await store.close();
    expect(readLease()).toEqual(before);
  });

  test('can be opened again after its successor is closed', async () => {
    const store = await overtaken();
    await store.close();
    clock.advance(10_000);
    await expect(place(await open(), order(2))).resolves.not.toThrow();
  });
});

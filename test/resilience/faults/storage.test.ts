import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { OrderBook, Store } from 'intentbook';
import { createOrderBook, StoreError } from 'intentbook';
import { postgresStore } from 'intentbook/postgres';
import { sqliteStore } from 'intentbook/sqlite';
import { expect, test } from 'vitest';
import { temporaryFile } from '../../integration/stores/temporary.ts';
import { manualClock } from '../../support/clock.ts';
import { SEPOLIA } from '../../support/orders.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { accepted, orderOf, outcome, START } from '../../unit/orders/admission-fixture.ts';

// Behaviour of a book during a storage failure, and its recovery.

async function bookOn(store: Store, clock = manualClock(START)) {
  const book = createOrderBook({ chainId: SEPOLIA, clock, store });
  const received: string[] = [];
  book.on('orderCreated', ({ uid }) => received.push(uid));
  await book.start();
  return { book, clock, received };
}

/** @returns the code of the failure of a submission. */
async function faultOf(book: OrderBook): Promise<string> {
  try {
    return await outcome(book, await orderOf());
  } catch (failure) {
    if (!(failure instanceof StoreError) || failure.cause === undefined) throw failure;
    expect(failure.message).not.toMatch(/INSERT|SELECT|postgres:\/\//);
    return failure.code;
  }
}

const unready = (store: string) => ({ ready: false, checks: { store } });

/** A small file system that fills up. */
function smallDisk(): ({ readonly path: string } & Disposable) | undefined {
  const path = mkdtempSync(join(tmpdir(), 'intentbook-disk-'));
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'intentbook', path]).status === 0;
  if (!mounted) rmSync(path, { recursive: true });
  return mounted
    ? {
        path,
        [Symbol.dispose]() {
          spawnSync('umount', [path]);
          rmSync(path, { recursive: true });
        },
      }
    : undefined;
}

test('full disk: orders fail with a code, acknowledged orders stay readable and writes resume with space', async ({
  skip,
}) => {
  using disk = smallDisk();
  if (disk === undefined) return skip('only root may mount a small disk');
  const path = join(disk.path, 'book.sqlite');
  const { book, clock, received } = await bookOn(sqliteStore({ path }));
  const ballast = join(disk.path, 'ballast');
  const uids = [await accepted(book, await orderOf())];
  try {
    // Fills the remaining space in smaller and smaller pieces.
    for (let size = 1 << 20; size >= 1024; size /= 2) {
      for (let n = 0; ; n++) {
        try {
          writeFileSync(`${ballast} ${size} ${n}`, Buffer.alloc(size, 1));
        } catch {
          break;
        }
      }
    }
    let rejected = '';
    for (let i = 0; i < 2000 && rejected === ''; i++) {
      const order = await orderOf();
      try {
        uids.push(await accepted(book, order));
      } catch {
        rejected = await faultOf(book);
      }
    }
    expect(rejected).toBe('Unavailable');
    expect((await book.orders.getMany(uids)).length).toBe(uids.length);
    // The lease cannot be renewed either, which readiness reports.
    clock.advance(2500);
    expect(await book.ready()).toMatchObject(unready('Unavailable'));

    spawnSync('sh', ['-c', `rm -f "${ballast}"*`]);
    clock.advance(2500);
    uids.push(await accepted(book, await orderOf()));
    expect(await book.ready()).toMatchObject({ ready: true });
  } finally {
    await book.close();
  }
  expect(received).toEqual(uids);
  await using again = (await bookOn(sqliteStore({ path }))).book;
  expect((await again.orders.getMany(uids)).length).toBe(uids.length);
});

test('read-only file: the store rejects it on open, or fails orders while it is read-only', async () => {
  using file = temporaryFile();
  const database = new Database(file.path);
  for (const setting of ['journal_mode = WAL', 'synchronous = FULL']) database.pragma(setting);
  const { book } = await bookOn(sqliteStore(database));
  const uid = await accepted(book, await orderOf());
  database.pragma('query_only = ON');
  expect(await faultOf(book)).toBe('Unavailable');
  expect((await book.orders.get(uid))?.status).toBe('open');
  database.pragma('query_only = OFF');
  const next = await accepted(book, await orderOf());
  await book.close();
  database.close();

  const sealed = new Database(file.path, { readonly: true });
  sealed.pragma('synchronous = FULL');
  const rejection = await bookOn(sqliteStore(sealed)).catch((failure: unknown) => failure);
  expect(rejection).toMatchObject({ code: 'Unavailable', message: expect.stringContaining('cannot be written to') });
  sealed.close();

  const opened = new Database(file.path);
  opened.pragma('synchronous = FULL');
  const { book: again } = await bookOn(sqliteStore(opened));
  expect((await again.orders.getMany([uid, next])).length).toBe(2);
  await again.close();
  opened.close();
});

test('database outage: orders fail with a code, and the store recovers', async () => {
  const server = await startPostgres();
  const { book, clock, received } = await bookOn(postgresStore({ url: server.url, migrate: true }));
  try {
    const uid = await accepted(book, await orderOf());
    await server.stop();
    // The pool must notice that its connections have ended. A submission on an ended connection waits for its outcome
    // by the clock of the test, which does not advance here.
    expect(await book.ready()).toMatchObject(unready('Unavailable'));
    await expect(book.orders.get(uid)).rejects.toMatchObject({ code: 'Unavailable' });
    expect(await faultOf(book)).toBe('Unavailable');
    // All periodic work fails too, and continues afterwards.
    for (let i = 0; i < 5; i++) {
      clock.advance(1000);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await server.start();
    expect(await book.ready()).toMatchObject({ ready: true });
    const next = await accepted(book, await orderOf());
    expect((await book.orders.getMany([uid, next])).length).toBe(2);
    await book.close();
    expect(received).toEqual([uid, next]);
  } finally {
    await book.close();
    await server.dispose();
  }
});

test('clock that steps back loses no order and repeats no event', async () => {
  using file = temporaryFile();
  const clock = manualClock(START);
  const { book, received } = await bookOn(sqliteStore({ path: file.path }), clock);
  const expired: string[] = [];
  book.on('orderExpired', ({ uid }) => expired.push(uid));
  const turn = async () => {
    clock.advance(1000);
    await new Promise((resolve) => setImmediate(resolve));
  };
  const short = await accepted(book, await orderOf({ validTo: START / 1000 + 100 }));
  clock.advance(200_000);
  await turn();
  await turn();
  expect(expired).toEqual([short]);

  clock.set(START - 3_600_000);
  const next = await accepted(book, await orderOf({ validTo: START / 1000 + 100 }));
  for (let i = 0; i < 3; i++) await turn();
  expect((await book.orders.list({})).orders.map(({ uid }) => uid).sort()).toEqual([short, next].sort());
  clock.set(START + 300_000);
  // After a jump, expiries are recorded when the clock has been steady for a minute.
  for (let i = 0; i < 70; i++) await turn();
  expect(expired).toEqual([short, next]);
  expect(await book.ready()).toMatchObject({ ready: true });
  await book.close();
  expect(received).toEqual([short, next]);
  await using again = (await bookOn(sqliteStore({ path: file.path }), clock)).book;
  expect((await again.orders.getMany([short, next])).length).toBe(2);
});

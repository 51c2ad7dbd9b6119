import Database from 'better-sqlite3';
import type { OrderBook, SubmitResult } from 'intentbook';
import { createApi, createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { sqliteStore } from 'intentbook/sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ManualClock } from '../../support/clock.ts';
import { manualClock } from '../../support/clock.ts';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';
import { directFixture } from '../http/http-fixture.ts';
import type { TemporaryFile } from './temporary.ts';
import { temporaryFile } from './temporary.ts';

let file: TemporaryFile;
let database: Database.Database;
let clock: ManualClock;
let book: OrderBook;
let created: string[];

beforeEach(async () => {
  file = temporaryFile();
  clock = manualClock();
  database = new Database(file.path);
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  book = createOrderBook({ chainId: SEPOLIA, clock, store: sqliteStore(database) });
  created = [];
  book.on('orderCreated', ({ uid }) => created.push(uid));
  await book.start();
});
afterEach(async () => {
  await book.close();
  database.close();
  file[Symbol.dispose]();
});

let amount = 1000;
async function submit(options: { joined?: boolean; owner?: number; replaces?: string } = {}): Promise<string> {
  const { joined = false, owner = 1, replaces } = options;
  const appData = replaces === undefined ? '{}' : JSON.stringify({ metadata: { replacedOrder: { uid: replaces } } });
  const validTo = Math.floor(clock.now() / 1000) + 3600;
  const order = await signOrder(account(owner), { appData, validTo, sellAmount: String(amount++) });
  const result: SubmitResult = await book.orders.submit(order, joined ? { transaction: database } : {});
  if (result.status !== 'accepted') throw result.error;
  return result.uid;
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Lets the time pass in which a commit is noticed, and listeners are called. */
async function notice(): Promise<void> {
  await turn();
  clock.advance(100);
  for (let i = 0; i < 5; i++) await turn();
}

async function auctioned(): Promise<string[]> {
  clock.advance(5_000);
  return (await book.auctions.current()).orders.map(({ uid }) => uid);
}

/** Requests an auction while the handle has a transaction. A new one cannot be stored, and must leave nothing. */
async function tryAuction(): Promise<void> {
  await auctioned().catch((error: Error) => expect(error.message).toContain('while a transaction of the host is open'));
}

/** What other callers see of an order. */
async function view(uid: string): Promise<unknown> {
  const http = directFixture(createApi(book), () => Math.floor(clock.now() / 1000));
  const listed = (await book.orders.list()).orders.filter((order) => order.uid === uid);
  const many = await book.orders.getMany([uid]);
  const response = await http.send('GET', `/api/v1/orders/${uid}`);
  return [(await book.orders.get(uid))?.status, listed[0]?.status, many.length, response.status];
}

describe('order in a transaction of the host on SQLite', () => {
  test('is not visible before the commit, and is visible with its event after it', async () => {
    const stream = await book.orders.stream({});
    const streamed = stream[Symbol.asyncIterator]().next();
    database.exec('BEGIN IMMEDIATE');
    const uid = await submit({ joined: true });
    await notice();
    expect(await view(uid)).toEqual([undefined, undefined, 0, 404]);
    expect([created, await book.log.last()]).toEqual([[], 0]);
    await tryAuction();
    database.exec('COMMIT');
    expect(await view(uid)).toEqual(['open', 'open', 1, 200]);
    await notice();
    expect(created).toEqual([uid]);
    expect((await streamed).value).toMatchObject({ type: 'order', id: 1 });
    expect(await auctioned()).toEqual([uid]);
  });

  test('leaves nothing in reads and auctions after a rollback', async () => {
    const before = await submit({ owner: 2 });
    await notice();
    database.exec('BEGIN IMMEDIATE');
    const uid = await submit({ joined: true });
    await tryAuction();
    await view(uid);
    database.exec('ROLLBACK');
    await notice();
    expect(await view(uid)).toEqual([undefined, undefined, 0, 404]);
    expect([await auctioned(), created]).toEqual([[before], [before]]);
    expect((await submit()).length).toBe(uid.length);
  });

  test('replaces another one only when it is committed', async () => {
    const old = await submit();
    for (const ending of ['ROLLBACK', 'COMMIT']) {
      database.exec('BEGIN IMMEDIATE');
      const uid = await submit({ joined: true, replaces: old });
      expect([await view(old), await view(uid)]).toEqual([
        ['open', 'open', 1, 200],
        [undefined, undefined, 0, 404],
      ]);
      await tryAuction();
      database.exec(ending);
      await notice();
      expect(await auctioned()).toEqual([ending === 'COMMIT' ? uid : old]);
    }
    expect((await book.orders.get(old))?.status).toBe('cancelled');
  });

  test('belongs to the savepoint of the host', async () => {
    database.exec('BEGIN IMMEDIATE');
    const kept = await submit({ joined: true });
    database.exec('SAVEPOINT host');
    const dropped = await submit({ joined: true, owner: 2 });
    database.exec('ROLLBACK TO host');
    const last = await submit({ joined: true, owner: 3 });
    database.exec('RELEASE host; COMMIT');
    await notice();
    expect(created).toEqual([kept, last]);
    expect((await book.orders.list()).orders.map(({ uid }) => uid)).not.toContain(dropped);
  });

  test('is notified although another transaction follows at once', async () => {
    database.exec('BEGIN IMMEDIATE');
    const first = await submit({ joined: true });
    database.exec('COMMIT; BEGIN IMMEDIATE');
    const second = await submit({ joined: true, owner: 2 });
    await notice();
    expect(created).toEqual([first]);
    for (let i = 0; i < 600; i++) await notice(); // a minute
    database.exec('COMMIT');
    await notice();
    expect(created).toEqual([first, second]);
  });

  test('starts no timer that outlives the transaction or the book', async () => {
    await submit({ owner: 2 });
    await notice();
    const idle = clock.pending;
    database.exec('BEGIN IMMEDIATE');
    await submit({ joined: true });
    database.exec('COMMIT');
    await notice();
    expect(clock.pending).toBe(idle);
    database.exec('BEGIN IMMEDIATE');
    await submit({ joined: true });
    await book.close();
    database.exec('ROLLBACK');
    expect(clock.pending).toBe(0);
  });
});

test('book on a relative path continues after the working directory has changed', async () => {
  const directory = process.cwd();
  process.chdir(file.directory);
  try {
    const handle = new Database('relative.sqlite');
    handle.pragma('journal_mode = WAL');
    handle.pragma('synchronous = FULL');
    const stores = [sqliteStore({ path: 'own.sqlite' }), sqliteStore(handle)];
    const books = stores.map((store) => createOrderBook({ chainId: SEPOLIA, clock, store }));
    process.chdir(directory);
    for (const each of books) await each.start();
    clock.advance(20_000);
    const validTo = Math.floor(clock.now() / 1000) + 3600;
    for (const each of books) {
      const result = await each.orders.submit(await signOrder(account(1), { validTo }));
      expect([result.status, (await each.ready()).ready]).toEqual(['accepted', true]);
      await each.close();
    }
    handle.close();
  } finally {
    process.chdir(directory);
  }
});

describe('settings of a handle of the host', () => {
  /** Runs one book with a handle that has a setting. */
  async function run(pragma: string) {
    using other = temporaryFile();
    const handle = new Database(other.path);
    handle.pragma(pragma);
    handle.pragma('journal_mode = WAL');
    handle.pragma('synchronous = FULL');
    handle.pragma(pragma);
    const hosted = createOrderBook({ chainId: SEPOLIA, clock, store: sqliteStore(handle) });
    const plain = createOrderBook({ chainId: SEPOLIA, clock, store: memoryStore() });
    try {
      await hosted.start();
      await plain.start();
      const validTo = Math.floor(clock.now() / 1000) + 3600;
      const uids: string[] = [];
      for (const owner of [1, 2, 3]) {
        const order = await signOrder(account(owner), { validTo, appData: '{"a":1}' });
        const results = [await hosted.orders.submit(order), await plain.orders.submit(order)];
        expect(results.map(({ status }) => status)).toEqual(['accepted', 'accepted']);
        if (results[0]?.status === 'accepted') uids.push(results[0].uid);
      }
      expect(await hosted.orders.list()).toEqual(await plain.orders.list());
      const getMany = async ({ orders }: OrderBook) => new Set(await orders.getMany(uids));
      expect(await getMany(hosted)).toEqual(await getMany(plain));
      expect(await hosted.auctions.current()).toEqual(await plain.auctions.current());
    } finally {
      await hosted.close();
      await plain.close();
      handle.close();
    }
  }

  test.each(["encoding = 'UTF-16'", "encoding = 'UTF-16be'", 'locking_mode = EXCLUSIVE', 'query_only = ON'])(
    '%s is refused by its name',
    async (pragma) => {
      const [name = ''] = pragma.split(' ');
      await expect(run(pragma)).rejects.toThrow(name);
    },
  );

  test.each([
    'reverse_unordered_selects = ON',
    'full_column_names = ON',
    'count_changes = ON',
    'case_sensitive_like = ON',
    'recursive_triggers = ON',
    'foreign_keys = OFF',
    'read_uncommitted = ON',
    'temp_store = MEMORY',
    'page_size = 512',
    'secure_delete = ON',
    'trusted_schema = OFF',
    'cell_size_check = ON',
  ])('%s has no effect', (pragma) => run(pragma));
});

import type { OrderBook, OrderBookEvents, Store } from 'intentbook';
import { createOrderBook, OrderBookError, StoreError } from 'intentbook';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { manualClock } from '../support/clock.ts';
import { account, COW, SEPOLIA, signCancellation, signOrder, WETH } from '../support/orders.ts';

const START = Date.UTC(2026, 0, 1);
const START_SECONDS = START / 1000;
const owner = account(1);

let clock: ReturnType<typeof manualClock>;
let store: Store;
let book: OrderBook;

beforeEach(async () => {
  clock = manualClock(START);
  store = memoryStore();
  book = createOrderBook({ chainId: SEPOLIA, store, clock });
  await book.start();
});
afterEach(() => book.close());

const signed = (choice: Partial<Parameters<typeof signOrder>[1]> = {}) =>
  signOrder(owner, { validTo: START_SECONDS + 600, ...choice });

async function accepted(on: OrderBook, choice: Partial<Parameters<typeof signOrder>[1]> = {}): Promise<string> {
  const result = await on.orders.submit(await signed(choice));
  if (result.status !== 'accepted') throw result.error;
  return result.uid;
}

describe('book options', () => {
  test.each([
    [{ chainID: 1, store: memoryStore() }, /unknown option "chainID", did you mean "chainId"\?/],
    [{ chainId: 1, store: memoryStore(), limits: { minimumValidity: 1 } }, /did you mean "minValidity"\?/],
    [{ chainId: 1.5, store: memoryStore() }, /chainId/],
    [{ chainId: 1 }, /store must be a store such as memoryStore\(\), got undefined/],
    [undefined, /options must be an object such as { chainId }, got undefined/],
    ['x.sqlite', /options must be an object such as { chainId }, got "x.sqlite"/],
    [
      { chainId: 1, store: 'x.sqlite' },
      /store must be a store such as sqliteStore\({ path: "x.sqlite" }\), got "x.sql/,
    ],
    [{ chainId: 1, store: {} }, /store must be a store such as memoryStore\(\), got an object/],
    [{ chainId: 1, store: memoryStore }, /store must be a store such as memoryStore\(\), got a function/],
    [
      { chainId: 1, store: memoryAccountStore() },
      /store must be a store such as memoryStore\(\), got an account store/,
    ],
    [{ chainId: 'sepolia', store: memoryStore() }, /createOrderBook: chainId must be 11155111 for "sepolia"/],
    [{ chainId: 1n, store: memoryStore() }, /chainId must be an integer from 1 up, got 1n/],
    [{ chainId: 1, store: memoryStore(), chain: 'http://node' }, /chain must be a client such as viemChain\(client\)/],
    [{ chainId: 1, store: memoryStore(), chain: { request: () => {} } }, /chain must be a client such as viemChain/],
    [
      { chainId: 1, store: memoryStore(), documentSource: {} },
      /documentSource must be an object with find\(\), got an o/,
    ],
    [
      { chainId: 1, store: memoryStore(), logger: 'pino' },
      /logger must be an object with info\(\), warn\(\), error\(\)/,
    ],
    [
      { chainId: 1, store: memoryStore(), simulator: 'x' },
      /simulator must be an object with simulate\(\), got a string/,
    ],
    [
      { chainId: 1, store: memoryStore(), recoveryPool: null },
      /recoveryPool must be an object with recover\(\), got null/,
    ],
    [{ chainId: 1, store: memoryStore(), clock: Date }, /clock must be an object with now\(\), after\(\), got a func/],
    [{ chainId: 1, store: memoryStore(), deniedTokens: new Set(['x']) }, /deniedTokens/],
    [
      { chainId: 1, store: memoryStore(), settlementContract: '0x12' },
      /settlementContract must be 0x and 40 hex digits/,
    ],
    [{ chainId: 1, store: memoryStore(), deniedTokens: ['x'] }, /deniedTokens must be 0x and 40 hex digits, got "x"/],
    [{ chainId: 1, store: memoryStore(), deniedTokens: 'WETH' }, /deniedTokens must be a list or a set, got "WETH"/],
    [
      { chainId: 1, store: memoryStore(), polciy: {} },
      /unknown option "polciy", use chainId, store, .*, clock, logger$/,
    ],
    [{ chainId: 1, store: memoryStore(), isDenied: [] }, /isDenied must be a function, got an array/],
    [{ chainId: 1, store: memoryStore(), retention: '90' }, /retention must be a positive number of days, got "90"/],
  ])('rejects case %# with a TypeError that names the option', (options, message) => {
    expect(() => createOrderBook(options as never)).toThrow(message);
    expect(() => createOrderBook(options as never)).toThrow(TypeError);
  });

  test('accept an unknown chain with the production settlement contract or an own one', () => {
    const local = createOrderBook({ chainId: 31337, store: memoryStore(), settlementContract: WETH });
    expect(local.settlementContract).toBe(WETH.toLowerCase());
    expect(createOrderBook({ chainId: 31337, store: memoryStore() }).settlementContract).toBe(book.settlementContract);
  });

  test('set the limits', async () => {
    const strict = createOrderBook({
      chainId: SEPOLIA,
      store: memoryStore(),
      clock,
      limits: { minValidity: 1000, maxAppDataSize: 10, maxOpenOrders: 1 },
      deniedTokens: [COW],
    });
    await strict.start();
    const codeOf = async (choice: Parameters<typeof signed>[0]) => {
      const result = await strict.orders.submit(await signed(choice));
      return result.status === 'rejected' ? result.error.code : result.status;
    };
    const validTo = START_SECONDS + 2000;
    expect(await codeOf({})).toBe('UnsupportedToken');
    expect(await codeOf({ buyToken: owner.address })).toBe('InsufficientValidTo');
    expect(await codeOf({ buyToken: owner.address, validTo, appData: '{"a":1234}' })).toBe('accepted');
    expect(await codeOf({ buyToken: owner.address, validTo, appData: '{"a":12345}' })).toBe('InvalidAppData');
    expect(await codeOf({ buyToken: owner.address, validTo: validTo + 1 })).toBe('TooManyLimitOrders');
    await strict.close();
  });
});

describe('book lifecycle', () => {
  test('rejects calls before start and after close, and restarts with its orders', async () => {
    const order = await signed();
    const fresh = createOrderBook({ chainId: SEPOLIA, store: memoryStore(), clock });
    const missing = new StoreError('NotStarted', 'the book is not started; call start() first');
    await expect(fresh.orders.submit(order)).rejects.toEqual(missing);
    const off = { chain: 'off', funds: 'off', contractSignatures: 'off' };
    expect(await fresh.ready()).toEqual({ ready: false, checks: { store: 'NotStarted', ...off } });
    await fresh.start();
    expect(await fresh.ready()).toEqual({ ready: true, checks: { store: 'ok', ...off } });
    const uid = await accepted(fresh);
    await fresh.close();
    await fresh.close();
    await expect(fresh.orders.get(uid)).rejects.toThrow(StoreError);
    await expect(fresh.orders.submit(order)).rejects.toEqual(new StoreError('Closed', 'the book is closed'));
    await fresh.start();
    expect((await fresh.orders.get(uid))?.uid).toBe(uid);
    await fresh.close();
  });

  test('completes all running submissions on close', async () => {
    const orders = await Promise.all(
      Array.from({ length: 20 }, (_, i) => signed({ validTo: START_SECONDS + 600 + i })),
    );
    const single = orders.slice(1).map((order) => book.orders.submit(order));
    const many = book.orders.submitMany(orders.slice(0, 1));
    await book.close();
    const results = [...(await Promise.all(single)), ...(await many)];
    expect(results.map(({ status }) => status)).toEqual(orders.map(() => 'accepted'));
    await book.start();
    const { orders: kept } = await book.orders.list({ owner: owner.address, limit: 100 });
    expect(kept).toHaveLength(orders.length);
  });

  test('starts once when started twice, and close waits for a running start', async () => {
    const fresh = createOrderBook({ chainId: SEPOLIA, store: memoryStore(), clock });
    await Promise.all([fresh.start(), fresh.start()]);
    await fresh.close();
    const starting = fresh.start();
    await fresh.close();
    await starting;
    expect((await fresh.ready()).ready).toBe(false);
  });

  test('leaves the store closed after a failed start', async () => {
    const inner = memoryStore();
    const failing: Store = { ...inner, events: { ...inner.events, last: () => Promise.reject(new Error('no log')) } };
    await expect(createOrderBook({ chainId: SEPOLIA, store: failing, clock }).start()).rejects.toThrow('no log');
    await createOrderBook({ chainId: SEPOLIA, store: inner, clock }).start();
  });

  test('binds a store to one book of one domain', async () => {
    const second = createOrderBook({ chainId: SEPOLIA, store, clock });
    await expect(second.start()).rejects.toMatchObject({ code: 'WriterActive' });
    await book.close();
    const foreign = createOrderBook({ chainId: 1, store, clock });
    await expect(foreign.start()).rejects.toThrow(/chain 11155111.*chain 1,/);
    await expect(foreign.start()).rejects.toMatchObject({ code: 'DomainMismatch' });
    await book.start();
  });
});

describe('order submission', () => {
  test('rejects a duplicate, or accepts it as existing on request', async () => {
    const order = await signed();
    const first = await book.orders.submit(order);
    expect(first).toMatchObject({ status: 'accepted', existing: false });
    expect(await book.orders.submit(order)).toMatchObject({ status: 'rejected', error: { code: 'DuplicatedOrder' } });
    expect(await book.orders.submit(order, { acceptExisting: true })).toEqual({ ...first, existing: true });
  });

  test('reports a stored order as a duplicate even if it would be rejected now', async () => {
    const order = await signed();
    await book.orders.submit(order);
    clock.advance(3600_000);
    expect(await book.orders.submit(order)).toMatchObject({ error: { code: 'DuplicatedOrder' } });
    expect(await book.orders.submit(await signed({ sellAmount: '7' }))).toMatchObject({
      error: { code: 'OrderExpired' },
    });
  });

  test('accepts validity at both ends of the window, without an upper end for presign orders', async () => {
    const year = 365 * 86400;
    const at = async (validTo: number, presign = false) => {
      const order = await signed({ validTo });
      const result = await book.orders.submit(
        presign ? { ...order, signingScheme: 'presign', signature: '0x' } : order,
      );
      return result.status === 'rejected' ? result.error.code : result.status;
    };
    expect(await at(START_SECONDS - 1)).toBe('OrderExpired');
    expect(await at(START_SECONDS)).toBe('InsufficientValidTo');
    expect(await at(START_SECONDS + 59)).toBe('InsufficientValidTo');
    expect(await at(START_SECONDS + 60)).toBe('accepted');
    expect(await at(START_SECONDS + year)).toBe('accepted');
    expect(await at(START_SECONDS + year + 1)).toBe('ExcessiveValidTo');
    expect(await at(4294967295, true)).toBe('accepted');
  });

  test('throws a failure of the store to the caller', async () => {
    const broken: Store = {
      ...store,
      open: async () => {},
      orders: {
        ...store.orders,
        insert: async () => Promise.reject(new StoreError('Unavailable', 'the disk is full')),
      },
    };
    const failing = createOrderBook({ chainId: SEPOLIA, store: broken, clock });
    await failing.start();
    await expect(failing.orders.submit(await signed())).rejects.toMatchObject({ code: 'Unavailable' });
  });

  test('returns extreme amounts unchanged', async () => {
    const max = (2n ** 256n - 1n).toString();
    for (const amount of ['1', '9007199254740993', '9223372036854775808', max]) {
      const uid = await accepted(book, { sellAmount: amount, buyAmount: max });
      expect(await book.orders.get(uid)).toMatchObject({ sellAmount: amount, buyAmount: max });
    }
    const order = await signed({ sellAmount: '17' });
    const padded = await book.orders.submit({ ...order, sellAmount: `${'0'.repeat(500)}17` });
    expect(padded.status).toBe('accepted');
  });
});

describe('order read', () => {
  test('shows an order as expired in the second after validTo', async () => {
    const uid = await accepted(book, { validTo: START_SECONDS + 100 });
    const statusAt = async (second: number) => {
      clock.advance(START + second * 1000 - clock.now());
      return (await book.orders.get(uid))?.status;
    };
    expect(await statusAt(0)).toBe('open');
    expect(await statusAt(100)).toBe('open');
    expect(await statusAt(101)).toBe('expired');
    expect((await book.orders.list({ status: 'expired' })).orders.map((order) => order.uid)).toEqual([uid]);
    expect((await book.orders.list({ status: 'open' })).orders).toEqual([]);
  });

  test('returns the same order as object and as rendered text', async () => {
    const uid = await accepted(book);
    const text = await book.orders.rendered.get(uid);
    expect(JSON.parse(text?.json ?? '')).toEqual(await book.orders.get(uid));
    expect((await book.orders.getMany([uid]))[0]).toEqual({ order: await book.orders.get(uid) });
  });

  test('accepts any number of orders in process', async () => {
    const uids = await Promise.all(
      Array.from({ length: 130 }, (_, i) => accepted(book, { sellAmount: String(i + 1) })),
    );
    expect(await book.orders.getMany(uids)).toHaveLength(130);
  });

  test.each(['', '0x', 'x', `0x${'0'.repeat(110)}`])('get(%j) rejects with InvalidParameter', async (uid) => {
    await expect(book.orders.get(uid)).rejects.toThrow(OrderBookError);
    await expect(book.orders.get(uid)).rejects.toMatchObject({ code: 'InvalidParameter' });
  });

  test('returns an error element for a damaged row, omits it from listings and reports a failure', async () => {
    const good = await accepted(book);
    const bad = await accepted(book, { sellAmount: '2' });
    await book.close();
    const damage = (order: { uid: string; body: string }) =>
      order.uid === bad ? { ...order, body: '{"uid":"0x' } : order;
    const { scan: _, ...orders } = store.orders; // a listing then reads pages
    const damaged: Store = {
      ...store,
      orders: {
        ...orders,
        get: async (uids) => (await store.orders.get(uids)).map(damage) as never,
        list: async (query) => (await store.orders.list(query)).map(damage) as never,
      },
    };
    const reading = createOrderBook({ chainId: SEPOLIA, store: damaged, clock });
    await reading.start();
    const failures: unknown[] = [];
    reading.on('failure', (failure) => failures.push(failure));
    const results = await reading.orders.getMany([good, bad]);
    expect(results.find(({ error }) => error !== undefined)?.error).toEqual({
      uid: bad,
      description: expect.any(String),
    });
    expect(results.find(({ order }) => order !== undefined)?.order?.uid).toBe(good);
    expect((await reading.orders.list()).orders.map((order) => order.uid)).toEqual([good]);
    await expect(reading.orders.get(bad)).rejects.toThrow(/damaged/);
    expect(failures).toHaveLength(2);
    await reading.close();
  });
});

describe('book events', () => {
  test.each([undefined, null, 'log'])('rejects the listener %j', (listener) => {
    expect(() => book.on('failure', listener as never)).toThrow('book.on: the listener must be a function');
  });

  test('rejects a listener of an unknown event, with the most similar name', () => {
    const listen = (event: string) => () => book.on(event as 'failure', () => {});
    expect(listen('orderCreate')).toThrow('book.on: unknown event "orderCreate", did you mean "orderCreated"?');
    expect(listen('toString')).toThrow(TypeError);
    expect(listen('failure')).not.toThrow();
  });

  const recordEvents = (on: OrderBook) => {
    const events: [string, string, number][] = [];
    for (const name of ['orderCreated', 'orderCancelled'] as const) {
      on.on(name, ({ uid, id }) => void events.push([name, uid, id]));
    }
    return events;
  };

  test('are emitted once, in commit order, and completely before close returns', async () => {
    const events = recordEvents(book);
    const uids = [await accepted(book), await accepted(book, { sellAmount: '2' })];
    const signature = await signCancellation(owner, { orderUids: uids });
    expect(await book.orders.cancel({ orderUids: uids, ...signature })).toEqual({ status: 'cancelled', uids });
    await book.close();
    expect(events).toEqual([
      ['orderCreated', uids[0], 1],
      ['orderCreated', uids[1], 2],
      ['orderCancelled', uids[0], 3],
      ['orderCancelled', uids[1], 4],
    ]);
    await book.start();
    await book.close();
    expect(events).toHaveLength(4);
    await book.start();
  });

  test('are not affected by a listener that throws', async () => {
    const failures: unknown[] = [];
    const failure = new Error('a listener of the host');
    book.on('orderCreated', () => {
      throw failure;
    });
    book.on('failure', (failure) => void failures.push(failure));
    const events = recordEvents(book);
    await accepted(book);
    await book.close();
    expect(failures).toEqual([failure]);
    expect(events).toHaveLength(1);
    await book.start();
  });

  test('are not affected by an asynchronous listener that rejects', async () => {
    const failures: unknown[] = [];
    const [failure, other] = [new Error('a listener of the host'), new Error('another one')];
    book.on('orderCreated', async () => {
      throw failure;
    });
    book.on('ordersSubmitted', () => Promise.reject(other));
    book.on('failure', async (failure) => {
      failures.push(failure);
      throw failure;
    });
    await accepted(book);
    await book.close();
    expect(failures).toEqual(expect.arrayContaining([failure, other]));
    expect(failures).toHaveLength(2);
    await book.start();
  });

  test('stop after a listener is removed', async () => {
    const listener: OrderBookEvents['orderCreated'] = () => expect.unreachable();
    book.on('orderCreated', listener);
    book.off('orderCreated', listener);
    await accepted(book);
  });
});

test('amounts are exact where the application writes integers to JSON as numbers', async () => {
  const prototype = BigInt.prototype as { toJSON?: () => number };
  const sellAmount = `${2n ** 200n + 1n}`;
  const expected = await accepted(book, { sellAmount });
  const order = await book.orders.get(expected);
  await using other = createOrderBook({ chainId: SEPOLIA, store: memoryStore(), clock });
  await other.start();
  prototype.toJSON = () => 1;
  try {
    expect(await accepted(other, { sellAmount })).toBe(expected);
    expect(await other.orders.get(expected)).toEqual(order);
    expect(order?.sellAmount).toBe(sellAmount);
  } finally {
    delete prototype.toJSON;
  }
});

test('a store may have an optional method that is undefined', async () => {
  const store = memoryStore();
  const orders = { ...store.orders, getEncoded: undefined } as unknown as typeof store.orders; // as JavaScript may do
  await using book = createOrderBook({ chainId: SEPOLIA, store: { ...store, orders } });
  await book.start();
  const bytes = await book.orders.rendered.getManyBytes([`0x${'00'.repeat(56)}`]);
  expect(new TextDecoder().decode(bytes)).toBe('[]');
});

import type { ApiRequest, Hex } from 'intentbook';
import { createApi, createOrderBook, systemClock } from 'intentbook';
import { sqliteStore } from 'intentbook/sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { collectAllGarbage } from '../../../bench/gc.ts';
import { account, SEPOLIA, signOrder, type WireOrder } from '../../support/orders.ts';
import { temporaryFile } from '../stores/temporary.ts';
import { type Counters, countStatements, measureCounters } from './counters.ts';

const ORDERS = 128;
const validTo = Math.floor(systemClock.now() / 1000) + 3600;

const getHeader = (name: string) => (name === 'content-type' ? 'application/json' : undefined);

/** A competition without solutions whose deadline has not passed. */
const competitionAt = (auctionId: number) => ({
  auctionId,
  auctionStartBlock: 99,
  auctionDeadlineBlock: 200,
  transactionHashes: [],
  referenceScores: {},
  solutions: [],
});

/** Serves a book whose store is counted. */
async function open(path: string) {
  const book = createOrderBook({ chainId: SEPOLIA, store: sqliteStore({ path }), expiryInterval: 'off' });
  await book.start();
  const api = createApi(book);
  const request = async (method: string, path: string, content?: unknown) => {
    const body =
      content === undefined
        ? ({ type: 'none' } as const)
        : ({ type: 'bytes', bytes: Buffer.from(JSON.stringify(content)) } as const);
    const message: ApiRequest = { method, path, query: '', header: getHeader, body };
    const response = await api.handle(message);
    expect(response.status).toBeLessThan(300);
    const answer = response.body as string | Uint8Array | Uint8Array[]; // no route of this test streams
    return typeof answer === 'string' ? answer : Buffer.concat([answer].flat());
  };
  return { request, submitMany: book.orders.submitMany, chain: book.chain, auctions: book.auctions, close: book.close };
}

// Times depend on the machine. These numbers do not: a change shows that an operation does more work than before.
describe('counters of the book on SQLite', () => {
  const file = temporaryFile();
  const counters = countStatements();
  let orders: WireOrder[] = [];
  let uids: string[] = [];
  let opened: Awaited<ReturnType<typeof open>>;
  const measure = (operation: () => Promise<Uint8Array | string | undefined>): Promise<Counters> =>
    measureCounters(counters, operation);

  beforeAll(async () => {
    orders = await Promise.all(
      Array.from({ length: ORDERS + 1 }, (_, i) => signOrder(account(i % 8), { validTo, sellAmount: `${1000 + i}` })),
    );
    opened = await open(file.path);
  });
  afterAll(async () => {
    await opened.close();
    counters[Symbol.dispose]();
    file[Symbol.dispose]();
  });

  test('submission of 64 orders', async () => {
    const submit = (part: readonly WireOrder[]) => async () => {
      const results = await opened.submitMany(part);
      uids.push(...results.map((result) => (result.status === 'accepted' ? result.uid : '')));
      return undefined;
    };
    const first = await measure(submit(orders.slice(0, 64)));
    const second = await measure(submit(orders.slice(64, 128)));
    expect({ first, second }).toMatchInlineSnapshot(`
      {
        "first": {
          "bytes": 0,
          "rows": 129,
          "statements": 390,
        },
        "second": {
          "bytes": 0,
          "rows": 130,
          "statements": 389,
        },
      }
    `);
  });

  test('reads of 128 orders', async () => {
    await opened.close();
    opened = await open(file.path);
    const { request, chain, auctions } = opened;
    const [uid = ''] = uids;
    uids = uids.slice(0, ORDERS);
    // Old blocks, and the orders of recorded competitions, must not be read.
    for (let number = 1; number <= 100; number++)
      await chain.apply({ events: [], through: { number, hash: `0x${String(number).padStart(64, '0')}` } });
    for (let auctionId = 1; auctionId <= 3; auctionId++)
      await auctions.record({ ...competitionAt(auctionId), auction: { orders: uids as Hex[], prices: {} } });
    const byUids = () => request('POST', '/api/v1/orders/by_uids', uids);
    const getOne = () => request('GET', `/api/v1/orders/${uid}`);
    expect({
      'by_uids of 128, not cached': await measure(byUids),
      'by_uids of 128, cached': await measure(byUids),
      'one order, cached': await measure(getOne),
      'orders of an owner': await measure(() => request('GET', `/api/v1/account/${account(1).address}/orders`)),
      'auction, first build': await measure(() => request('GET', '/api/v1/auction')),
      'auction, repeated': await measure(() => request('GET', '/api/v1/auction')),
      'status of an order': await measure(() => request('GET', `/api/v1/orders/${uid}/status`)),
    }).toMatchInlineSnapshot(`
      {
        "auction, first build": {
          "bytes": 127133,
          "rows": 134,
          "statements": 14,
        },
        "auction, repeated": {
          "bytes": 127133,
          "rows": 1,
          "statements": 1,
        },
        "by_uids of 128, cached": {
          "bytes": 159873,
          "rows": 0,
          "statements": 0,
        },
        "by_uids of 128, not cached": {
          "bytes": 159873,
          "rows": 128,
          "statements": 1,
        },
        "one order, cached": {
          "bytes": 1238,
          "rows": 0,
          "statements": 0,
        },
        "orders of an owner": {
          "bytes": 12391,
          "rows": 11,
          "statements": 2,
        },
        "status of an order": {
          "bytes": 17,
          "rows": 6,
          "statements": 5,
        },
      }
    `);
  });

  test('cached reads retain no memory', async () => {
    const { request } = opened;
    const read = async (count: number) => {
      for (let i = 0; i < count; i++) await request('POST', '/api/v1/orders/by_uids', uids);
      collectAllGarbage();
      return process.memoryUsage().heapUsed;
    };
    await read(200);
    const before = await read(200);
    // 100 bytes for each request would be 200,000.
    expect((await read(2000)) - before).toBeLessThan(200_000);
  });
});

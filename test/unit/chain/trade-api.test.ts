import type { Hex, TradeChainEvent, TradeListQuery, TradeQuery } from 'intentbook';
import { OrderBookError } from 'intentbook';
import { describe, expect, test } from 'vitest';
import type { SurplusReader } from '../../../src/chain/surplus.ts';
import { createTradeApi } from '../../../src/chain/trade-api.ts';
import { toOrderTrade } from '../../../src/chain/trades.ts';
import { lazy } from '../../../src/concurrency/lifecycle.ts';
import { trade } from '../../conformance/chain.ts';
import { order } from '../../conformance/orders.ts';

const OWNER: Hex = `0x${'ab'.repeat(20)}`;
const ORDER = order(1);
const UID = ORDER.uid;

/** Trade number `n`, counted from the newest. */
const tradeOf = (n: number): TradeChainEvent => trade(ORDER, 100_000 - n, { feeAmount: '3' });

/** Trade methods over `count` trades, and the reads that they make: positions, offsets and limits. */
function fixture(count: number) {
  const reads: [after: number | undefined, offset: number | undefined, limit: number][] = [];
  const filters: unknown[] = [];
  const surplusOf: unknown[] = [];
  const all = Array.from({ length: count }, (_, n) => tradeOf(n));
  const chain = {
    async trades({ filter, after, offset, limit }: TradeQuery) {
      filters.push(filter);
      const start = after === undefined ? 0 : 100_000 - after.blockNumber + 1;
      reads.push([after && start - 1, offset, limit]);
      return all.slice(start + (offset ?? 0), start + (offset ?? 0) + limit);
    },
    firstTrade: async (token: Hex) => (token === OWNER ? 7 : undefined),
  } as unknown as Parameters<typeof createTradeApi>[0]['chain']; // the methods that are used
  const surplus = lazy(
    async (): Promise<SurplusReader> => ({
      async total(account, options) {
        surplusOf.push([account, options]);
        return 9n;
      },
      clear: () => {},
    }),
  );
  const meter = { rows: 0 };
  return { api: createTradeApi({ chain }, surplus), reads, filters, surplusOf, meter };
}

const blocks = (trades: readonly { readonly blockNumber: number }[]) =>
  trades.map((each) => 100_000 - each.blockNumber);
async function pagesOf<T>(pages: AsyncIterable<readonly T[]>): Promise<T[][]> {
  const read: T[][] = [];
  for await (const page of pages) read.push([...page]);
  return read;
}

describe('list of trades', () => {
  test('has ten trades by default, from the newest', async () => {
    const { api, reads, filters, meter } = fixture(30);
    const trades = await api.list({ orderUid: UID }, { meter });
    expect(trades).toEqual(Array.from({ length: 10 }, (_, n) => toOrderTrade(tradeOf(n))));
    expect(trades[0]).toMatchObject({ sellAmount: '40', sellAmountBeforeFees: '37' });
    expect([reads, filters, meter.rows]).toEqual([[[undefined, 0, 10]], [{ uid: UID }], 10]);
  });

  test.each([
    [
      0,
      250,
      [
        [undefined, 0, 100],
        [99, 0, 100],
        [199, 0, 50],
      ],
      250,
    ],
    [0, 100, [[undefined, 0, 100]], 100],
    [400, 2, [[undefined, 400, 2]], 202],
    [
      401,
      2,
      [
        [undefined, 399, 1],
        [399, 1, 2],
      ],
      203,
    ],
    [
      900,
      1,
      [
        [undefined, 399, 1],
        [399, 399, 1],
        [799, 100, 1],
      ],
      451,
    ],
  ])('from %d with the limit %d reads few rows at once', async (offset, limit, expected, rows) => {
    const { api, reads, meter } = fixture(1200);
    const trades = await api.list({ owner: OWNER, offset, limit }, { meter });
    expect(blocks(trades)).toEqual(Array.from({ length: limit }, (_, n) => offset + n));
    expect(reads).toEqual(expected);
    expect(meter.rows).toBe(rows);
  });

  test('ends with the trades, also within the offset', async () => {
    const few = fixture(150);
    expect(await few.api.list({ owner: OWNER, limit: 500 })).toHaveLength(150);
    expect(few.reads).toEqual([
      [undefined, 0, 100],
      [99, 0, 100],
    ]);
    const none = fixture(150);
    expect(await none.api.list({ owner: OWNER, offset: 5000 })).toEqual([]);
    expect(none.reads).toEqual([[undefined, 399, 1]]);
  });

  test('is not continued for a client that has disconnected', async () => {
    const { api, reads } = fixture(1200);
    const aborted = { aborted: true } as AbortSignal; // the member that is read
    await expect(api.list({ owner: OWNER, limit: 500 }, { signal: aborted })).rejects.toThrow();
    await expect(api.list({ owner: OWNER, offset: 500 }, { signal: aborted })).rejects.toThrow();
    expect(reads).toHaveLength(2);
  });

  test.each<[object, string, string, string]>([
    [{}, 'InvalidTradeFilter', 'owner', 'exactly one of owner and orderUid must be given'],
    [{ owner: OWNER, orderUid: UID }, 'InvalidTradeFilter', 'owner', 'exactly one of owner and orderUid must be given'],
    [{ owner: 'me' }, 'InvalidParameter', 'owner', 'owner: must be 0x and 40 hex digits, got "me"'],
    [{ orderUid: '0x12' }, 'InvalidParameter', 'orderUid', 'orderUid: must be 0x and 112 hex digits, got "0x12"'],
    [{ owner: OWNER, limit: 0 }, 'InvalidLimit', 'limit', 'limit: must be a whole number from 1 to 1000'],
    [{ owner: OWNER, limit: 1001 }, 'InvalidLimit', 'limit', 'limit: must be a whole number from 1 to 1000'],
    [{ owner: OWNER, limit: 1.5 }, 'InvalidLimit', 'limit', 'limit: must be a whole number from 1 to 1000'],
    [{ owner: OWNER, offset: -1 }, 'InvalidParameter', 'offset', 'offset: must be a whole number from 0 to 1000000'],
    [
      { owner: OWNER, offset: 1_000_001 },
      'InvalidParameter',
      'offset',
      'offset: must be a whole number from 0 to 1000000',
    ],
  ])('rejects %j', async (query, code, parameter, message) => {
    const { api } = fixture(1);
    const expected = new OrderBookError(code as 'InvalidLimit', message, { parameter });
    await expect(api.list(query)).rejects.toThrow(expected);
    await expect(api.list(query)).rejects.toMatchObject({ code, data: { parameter } });
  });

  test('requires a filter', async () => {
    const { api } = fixture(1);
    const none = [] as unknown as [TradeListQuery]; // as a program in JavaScript calls
    for (const method of [api.list, api.page]) {
      await expect(method(...none)).rejects.toMatchObject({ code: 'InvalidTradeFilter' });
    }
    expect(() => api.pages(...none)).toThrow('exactly one of owner and orderUid must be given');
  });

  test('accepts its largest numbers', async () => {
    const { api } = fixture(1);
    expect(await api.list({ owner: OWNER, offset: 1_000_000, limit: 1000 })).toEqual([]);
    expect(await api.list({ owner: OWNER, offset: 0, limit: 1 })).toHaveLength(1);
  });
});

describe('pages of trades', () => {
  test('are all trades of an order without a limit', async () => {
    const { api } = fixture(201);
    const pages = await pagesOf(api.pages({ orderUid: UID }));
    expect(pages.map((page) => page.length)).toEqual([100, 100, 1]);
    expect((await pagesOf(fixture(201).api.pages({ orderUid: UID, limit: 5 }))).flat()).toHaveLength(5);
    expect(await pagesOf(fixture(0).api.pages({ orderUid: UID }))).toEqual([]);
  });

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '5', null])('reject the limit %j', async (value) => {
    const { api } = fixture(1);
    const limit = value as number; // as a program in JavaScript calls
    expect(() => api.pages({ orderUid: UID, limit })).toThrow(expect.objectContaining({ code: 'InvalidLimit' }));
    await expect(pagesOf(api.history({ owner: OWNER, limit }))).rejects.toMatchObject({ code: 'InvalidLimit' });
  });

  test.each([null, '100-1', {}, { blockNumber: 1 }, { blockNumber: 1, logIndex: 0.5 }])(
    'of a history reject the position %j',
    async (value) => {
      const after = value as { blockNumber: number; logIndex: number }; // as a program in JavaScript calls
      const expected = { code: 'InvalidParameter', data: { parameter: 'after' } };
      await expect(pagesOf(fixture(1).api.history({ owner: OWNER, after }))).rejects.toMatchObject(expected);
    },
  );

  test('reject unknown filters', async () => {
    const { api } = fixture(1);
    const query = { owner: OWNER, limits: 5 };
    expect(() => api.pages(query)).toThrow('unknown filter "limits", did you mean "limit"?');
    await expect(pagesOf(api.history(query))).rejects.toMatchObject({ code: 'InvalidParameter' });
  });

  test('of a history begin below a position and have the times of the blocks', async () => {
    const { api, reads } = fixture(50);
    const after = { blockNumber: 100_000 - 9, logIndex: 0 };
    const [page] = await pagesOf(api.history({ owner: OWNER, after, limit: 2 }));
    expect(page).toEqual([10, 11].map((n) => ({ trade: toOrderTrade(tradeOf(n)), timestamp: tradeOf(n).timestamp })));
    expect(reads).toEqual([[9, 0, 2]]);
    expect((await pagesOf(fixture(50).api.history({ owner: OWNER }))).flat()).toHaveLength(50);
  });
});

test('surplus and first trade take addresses in any case', async () => {
  const { api, surplusOf } = fixture(0);
  const text = OWNER.toUpperCase().replace('X', 'x');
  const options = { meter: { rows: 0 } };
  expect([await api.totalSurplus(text, options), await api.firstTradeBlock(text)]).toEqual([9n, 7]);
  expect(surplusOf).toEqual([[OWNER, options]]);
  await expect(api.totalSurplus('me')).rejects.toMatchObject({
    message: 'user: must be 0x and 40 hex digits, got "me"',
  });
  await expect(api.firstTradeBlock('WETH')).rejects.toMatchObject({
    message: 'token: must be 0x and 40 hex digits, got "WETH"',
  });
});

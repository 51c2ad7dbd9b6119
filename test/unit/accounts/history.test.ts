import assert from 'node:assert/strict';
import type { Address, Hex, Order, OrderBook, Store } from 'intentbook';
import { createOrderBook } from 'intentbook';
import type { AccountOrder, AccountTrade } from 'intentbook/accounts';
import { createAccountApi, createAccounts } from 'intentbook/accounts';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { describe, expect, it, onTestFinished } from 'vitest';
import { toCsvLine } from '../../../src/account-tools/csv-line.ts';
import { formatHistoryCursor, parseHistoryCursor } from '../../../src/accounts/history/history.ts';
import { described } from '../../integration/http/described.ts';
import type { Answer } from '../../integration/http/http-fixture.ts';
import { directFixture } from '../../integration/http/http-fixture.ts';
import { blockOf, eventsIn, placementOf, TRADER, tradeOf } from '../../support/chain-events.ts';
import { manualClock } from '../../support/clock.ts';
import { account, SEPOLIA_DOMAIN, signOrder } from '../../support/orders.ts';

const ALICE = account(1);
const OWNER = ALICE.address.toLowerCase() as Address;
const CHAINS = [1, 100, 8453] as const;

/** Serves three books of different chains. */
async function historyFixture(stores: readonly Store[] = CHAINS.map(() => memoryStore())) {
  const clock = manualClock();
  const books = stores.map((store, i) => createOrderBook({ chainId: CHAINS[i] ?? 1, store, clock }));
  const accounts = createAccounts({ books, store: memoryAccountStore(), clock });
  for (const book of books) await book.start();
  await accounts.start();
  onTestFinished(async () => {
    await accounts.close();
    for (const book of books) await book.close();
  });
  const { send } = described(directFixture(createAccountApi(accounts), () => clock.now() / 1000));
  let nonce = 0;
  const blocks = new Map<OrderBook, number>();

  /** Submits an order to a book, a second after the previous one. */
  async function submit(index: number): Promise<Order> {
    clock.advance(1000);
    const book = books[index];
    assert.ok(book);
    const validTo = Math.floor(clock.now() / 1000) + 600;
    const choice = { sellAmount: String(1000 + nonce++), buyAmount: '400', validTo };
    const domain = { ...SEPOLIA_DOMAIN, chainId: book.chainId };
    const result = await book.orders.submit(await signOrder(ALICE, choice, { domain }));
    if (result.status !== 'accepted') throw result.error;
    const order = await book.orders.get(result.uid);
    assert.ok(order);
    return order;
  }

  /** Applies a block with trades of orders, at the time of the clock. */
  async function settle(index: number, orders: readonly Order[], timestamp: number | null = clock.now() / 1000) {
    const book = books[index];
    assert.ok(book);
    const block = blockOf((blocks.get(book) ?? 100 * index) + 1, `${index}`);
    blocks.set(book, block.number);
    const events = eventsIn(
      block,
      orders.map((order) => tradeOf(order, 10n, 4n)),
    ).map((event) => ({ ...event, timestamp }));
    await book.chain.apply({ events, through: block });
    clock.advance(1000);
  }

  return { clock, books, accounts, send, submit, settle };
}

type Fixture = Awaited<ReturnType<typeof historyFixture>>;

/** Reads all pages of an endpoint and calls `between` after each. */
async function readPages<T>(
  { send }: Fixture,
  path: string,
  between: (page: number) => Promise<void> = async () => {},
) {
  const pages: T[][] = [];
  for (let query: string | undefined = path; query !== undefined; ) {
    const answer: Answer = await send('GET', query);
    expect(answer.status).toBe(200);
    pages.push(answer.json() as T[]);
    const [, next] = /^<(.*)>; rel="next"$/.exec(answer.header('link') ?? '') ?? [];
    query = next === undefined ? undefined : path.replace(/\?.*/, next);
    await between(pages.length);
  }
  return pages;
}

const uidsOf = (rows: readonly AccountOrder[]) => rows.map(({ order }) => order.uid);
const tradedUids = (rows: readonly AccountTrade[]) => rows.map(({ trade }) => trade.orderUid);

describe('GET /accounts/{account}/orders', () => {
  it('lists the orders of all books, newest first, by page', async () => {
    const fixture = await historyFixture();
    const orders: Order[] = [];
    for (let i = 0; i < 25; i++) orders.unshift(await fixture.submit([0, 1, 1, 2, 0][i % 5] ?? 0));
    const pages = await readPages<AccountOrder>(fixture, `/accounts/${OWNER}/orders?limit=4`);
    expect(pages.map(({ length }) => length)).toEqual([4, 4, 4, 4, 4, 4, 1]);
    expect(uidsOf(pages.flat())).toEqual(orders.map(({ uid }) => uid));
    const [first] = pages.flat();
    expect(first).toEqual({ chainId: 1, env: 'production', order: orders[0] });
  });

  it.each([
    ['JSON', '', '"uid"'],
    ['CSV', '&format=csv', '\n'],
  ])('responds with a large page as %s in parts of 128', async (_, format, mark) => {
    const { accounts, submit } = await historyFixture();
    for (let i = 0; i < 150; i++) await submit(i % 3);
    const answer = await createAccountApi(accounts).handle({
      method: 'GET',
      path: `/accounts/${OWNER}/orders`,
      query: `limit=140${format}`,
      header: () => undefined,
      body: { type: 'none' },
    });
    expect(answer.headers['link']).toContain('rel="next"');
    const parts: string[] = [];
    assert.ok(typeof answer.body === 'object' && Symbol.asyncIterator in answer.body);
    for await (const part of answer.body) parts.push(part);
    // The head of the file is a line.
    const counts = parts.map((part) => part.split(mark).length - 1).filter((count) => count > 1);
    expect(counts).toEqual([128, 12]);
  });

  it('lists no order twice and skips none when orders arrive between pages', async () => {
    const fixture = await historyFixture();
    const orders: Hex[] = [];
    for (let i = 0; i < 12; i++) orders.unshift((await fixture.submit(i % 3)).uid);
    const pages = await readPages<AccountOrder>(fixture, `/accounts/${OWNER}/orders?limit=5`, async () => {
      for (const index of [0, 1, 2]) await fixture.submit(index);
    });
    expect(uidsOf(pages.flat())).toEqual(orders);
  });

  it('includes orders that the account has placed on chain', async () => {
    const { books, send } = await historyFixture();
    const [book] = books;
    assert.ok(book);
    const block = blockOf(1);
    const tokens = { sellToken: `0x${'11'.repeat(20)}`, buyToken: `0x${'22'.repeat(20)}` } as const;
    await book.chain.apply({ events: eventsIn(block, [placementOf(tokens)]), through: block });
    const rows = (await send('GET', `/accounts/${TRADER}/orders`)).json() as AccountOrder[];
    expect(rows.map(({ order }) => order.onchainUser)).toEqual([TRADER]);
  });

  it.each([
    ['/accounts/0x1/orders', 'account: must be 0x and 40 hex digits, got "0x1"'],
    [`/accounts/${OWNER}/orders?limit=0`, 'limit: must be an integer from 1 to 1000'],
    [`/accounts/${OWNER}/orders?limit=1001`, 'limit: must be an integer from 1 to 1000'],
    [`/accounts/${OWNER}/orders?cursor=5`, 'cursor: must be the `next` value of a page'],
    [`/accounts/${OWNER}/orders?format=xml`, 'format: must be csv or json'],
    [`/accounts/${OWNER}/trades?cursor=1~5-6`, 'cursor: must be the `next` value of a page'],
    ['/accounts/x/trades?format=csv', 'account: must be 0x and 40 hex digits, got "x"'],
  ])('rejects %s', async (path, message) => {
    const { send } = await historyFixture();
    const answer = await send('GET', path);
    expect([answer.status, answer.json()]).toEqual([400, { message }]);
  });
});

describe('GET /accounts/{account}/trades', () => {
  it('lists the trades of all books by the time of their blocks, by page', async () => {
    const fixture = await historyFixture();
    const traded: Hex[] = [];
    for (let i = 0; i < 13; i++) {
      const index = [2, 0, 1, 1][i % 4] ?? 0;
      const orders = [await fixture.submit(index), await fixture.submit(index)];
      await fixture.settle(index, orders);
      traded.unshift(...orders.map(({ uid }) => uid).reverse());
    }
    const pages = await readPages<AccountTrade>(fixture, `/accounts/${OWNER}/trades?limit=3`);
    expect(pages.map(({ length }) => length)).toEqual([3, 3, 3, 3, 3, 3, 3, 3, 2]);
    expect(tradedUids(pages.flat())).toEqual(traded);
    const [first] = pages.flat();
    expect(first).toMatchObject({ chainId: 8453, env: 'production', timestamp: expect.stringMatching(/Z$/) });
    const books = await Promise.all(fixture.books.map((book) => book.trades.list({ owner: OWNER, limit: 100 })));
    expect(pages.flat().map(({ trade }) => trade)).toEqual(expect.arrayContaining(books.flat()));
  });

  it('lists no trade twice and skips none when trades arrive between pages', async () => {
    const fixture = await historyFixture();
    const traded: Hex[] = [];
    // The third book has no trade on the first page, the second one has none at all.
    for (const index of [2, 2, 0, 0, 0, 0]) {
      const order = await fixture.submit(index);
      await fixture.settle(index, [order]);
      traded.unshift(order.uid);
    }
    const pages = await readPages<AccountTrade>(fixture, `/accounts/${OWNER}/trades?limit=2`, async () => {
      for (const index of [0, 1, 2]) await fixture.settle(index, [await fixture.submit(index)]);
    });
    expect(tradedUids(pages.flat())).toEqual(traded);
  });

  it('lists trades without a time after the newer trade of their book', async () => {
    const fixture = await historyFixture();
    const orders: Order[] = [];
    for (const [index, isTimed] of [
      [0, true],
      [1, true],
      [0, false],
      [0, true],
      [1, true],
    ] as const) {
      const order = await fixture.submit(index);
      await fixture.settle(index, [order], isTimed ? undefined : null);
      orders.push(order);
    }
    const [a, b, untimed, newer, newest] = orders.map(({ uid }) => uid);
    const [page = []] = await readPages<AccountTrade>(fixture, `/accounts/${OWNER}/trades`);
    expect(tradedUids(page)).toEqual([newest, newer, untimed, b, a]);
    expect(page.map(({ timestamp }) => timestamp === null)).toEqual([false, false, true, false, false]);
  });

  it('continues after a reorganisation', async () => {
    const fixture = await historyFixture();
    const orders = [];
    for (let i = 0; i < 4; i++) {
      const order = await fixture.submit(0);
      await fixture.settle(0, [order]);
      orders.unshift(order.uid);
    }
    const [book] = fixture.books;
    const pages = await readPages<AccountTrade>(fixture, `/accounts/${OWNER}/trades?limit=2`, async (page) => {
      if (page === 1) await book?.chain.rollback(3);
    });
    expect(tradedUids(pages.flat())).toEqual(orders);
  });
});

describe('cursor of trades', () => {
  it('must not be longer than 10,000 characters', () => {
    const position = `1-0x${'0'.repeat(40)}~1-1`;
    expect(parseHistoryCursor(Array(150).fill(position).join('.')).size).toBe(1);
    expect(() => parseHistoryCursor(Array(300).fill(position).join('.'))).toThrow('cursor: must be the `next` value');
  });
});

describe('CSV of a history', () => {
  it('contains all rows without a limit, by format or by the Accept header', async () => {
    const fixture = await historyFixture();
    const orders: Order[] = [];
    for (let i = 0; i < 230; i++) orders.unshift(await fixture.submit(i % 3));
    const [, , third] = orders;
    assert.ok(third);
    await fixture.settle(0, [third]);
    for (const sent of [{ query: '?format=csv' }, { query: '', headers: { accept: 'text/csv' } }]) {
      const answer = await fixture.send('GET', `/accounts/${OWNER}/orders${sent.query}`, sent);
      expect(answer.header('content-type')).toBe('text/csv; charset=utf-8');
      expect(answer.header('content-disposition')).toBe('attachment; filename="orders.csv"');
      const [header = '', ...lines] = answer.text.trimEnd().split('\r\n');
      expect(header).toMatch(/^chainId,env,uid,creationDate,status,kind,/);
      expect(lines.map((line) => line.split(',')[2])).toEqual(orders.map(({ uid }) => uid));
      expect(lines[0]?.split(',').length).toBe(header.split(',').length);
    }
    const preferred = { headers: { accept: 'application/json, text/csv;q=0.1' } };
    const json = await fixture.send('GET', `/accounts/${OWNER}/orders`, preferred);
    expect(json.header('content-type')).toBe('application/json; charset=utf-8');
    const trades = await fixture.send('GET', `/accounts/${OWNER}/trades?format=csv&limit=10`);
    const [header = '', line = ''] = trades.text.split('\r\n');
    expect(header).toBe(
      'chainId,env,timestamp,blockNumber,logIndex,txHash,orderUid,owner,sellToken,buyToken,' +
        'sellAmount,sellAmountBeforeFees,buyAmount',
    );
    expect(line).toMatch(new RegExp(`^1,production,\\d{4}-.*Z,1,0,0x.*,${third.uid},${OWNER},.*,10,10,4$`));
    const page = await fixture.send('GET', `/accounts/${OWNER}/orders?format=csv&limit=10`);
    expect([page.text.trimEnd().split('\r\n').length, page.header('link')]).toEqual([
      11,
      expect.stringMatching(/format=csv&limit=10&cursor=/),
    ]);
  });

  it('quotes separators and defuses formulas', () => {
    expect(toCsvLine(['a,b', 'say "x"', '=1+1', '-5', '-x', '+1', null, undefined, true, 7, '1\n2'])).toBe(
      `"a,b","say ""x""",'=1+1,-5,'-x,'+1,,,true,7,"1\n2"\r\n`,
    );
  });
});

describe('account history', () => {
  it('reads rows in proportion to the page', async () => {
    const fixture = await historyFixture();
    for (let i = 0; i < 60; i++) {
      const order = await fixture.submit(i % 3);
      await fixture.settle(i % 3, [order]);
    }
    for (const read of [fixture.accounts.history.orders, fixture.accounts.history.trades]) {
      const meter = { rows: 0 };
      await read(OWNER, { limit: 2 }, { meter });
      expect(meter.rows).toBeLessThanOrEqual(12);
    }
  });

  it('ends when the client disconnects', async () => {
    const fixture = await historyFixture();
    for (let i = 0; i < 150; i++) await fixture.submit(0);
    const signal = { aborted: false };
    const read = async () => {
      for await (const page of fixture.accounts.history.allOrders(OWNER, { signal })) signal.aborted = page.length > 0;
    };
    await expect(read()).rejects.toThrow('no longer needs the result');
  });

  it('ignores positions of other books in a cursor', async () => {
    const fixture = await historyFixture();
    await fixture.settle(0, [await fixture.submit(0)]);
    const cursor = formatHistoryCursor(new Map([[`5-0x${'0'.repeat(40)}`, { blockNumber: 5, logIndex: 0 }]]));
    expect(await fixture.accounts.history.trades(OWNER, { cursor })).toEqual({ trades: [] });
  });
});

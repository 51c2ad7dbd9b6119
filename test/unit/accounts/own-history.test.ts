import type { Hex, StoredEvent } from 'intentbook';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { KnownBook } from '../../../src/account-tools/account-books.ts';
import type { TokenLookup } from '../../../src/account-tools/token-labels.ts';
import type { PricedTrade } from '../../../src/market/slippage/observed-prices.ts';
import { createOwnHistory } from '../../../src/market/slippage/own-history.ts';
import { createTradeFollower } from '../../../src/market/slippage/trade-follower.ts';
import type { OrderBook } from '../../../src/order-book.ts';
import type { UsdPriceQuery } from '../../../src/ports/prices.ts';
import { manualClock } from '../../support/clock.ts';

const NOW = 1_700_000_000_000;
const PERIOD = 300_000;
const DAY = 86_400_000;
const address = (n: number): Hex => `0x${n.toString(16).padStart(40, '0')}`;
const [TOKEN, OTHER, USD] = [1, 2, 3].map(address) as [Hex, Hex, Hex];
const NATIVE = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';
/** The wrapped native token of chain 1. */
const WETH = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2';
const uid = (n: number): Hex => `0x${n.toString(16).padStart(112, '0')}`;
const SIGNAL = { signal: new AbortController().signal };

interface Entry {
  readonly at?: number;
  readonly order?: number;
  readonly type?: StoredEvent['type'];
  readonly reverted?: 'traded' | 'invalidated';
  readonly bought?: string;
  /** The entry whose trade is reverted. */
  readonly of?: number;
  readonly cause?: false;
}

/** A book with a scripted log. Orders sell `TOKEN` for `USD`, order 8 for native currency; order 9 was deleted. */
function scriptedBook(chainId = 1) {
  const entries: StoredEvent[] = [];
  const reads: [id: number, limit: number][] = [];
  const queried: Hex[][] = [];
  const watchers = new Set<() => void>();
  const book = {
    chainId,
    log: {
      last: async () => entries.length,
      async after(id: number, limit: number) {
        reads.push([id, limit]);
        return entries.slice(id, id + limit);
      },
      watch(hint: () => void) {
        watchers.add(hint);
        return () => void watchers.delete(hint);
      },
    },
    orders: {
      getMany: async (uids: readonly Hex[]) => {
        queried.push([...uids]);
        return uids.map((each) => {
          const order = { uid: each, sellToken: TOKEN, buyToken: each === uid(8) ? NATIVE : USD };
          return each === uid(9) ? {} : { order };
        });
      },
    },
  } as unknown as OrderBook; // the members that are used
  return {
    book,
    reads,
    queried,
    watchers,
    write(...more: readonly Entry[]) {
      for (const { at = NOW, order = 1, type = 'traded', reverted, bought = '200', of, cause } of more) {
        const id = entries.length + 1;
        const block = of ?? id;
        const position = { blockNumber: block, blockHash: `0xb${block}`, logIndex: 7, transactionHash: `0xd${block}` };
        const trade = { ordinal: 1, completes: true, sellAmount: '103', buyAmount: bought, feeAmount: '3' };
        const added = cause === false ? {} : { cause: { position, trade, ...(reverted && { reverted }) } };
        // The members that are used.
        entries.push({ id, type, uid: uid(order), owner: TOKEN, at, ...added } as unknown as StoredEvent);
      }
      for (const wake of watchers) wake();
    },
  };
}

async function settle(): Promise<void> {
  for (let i = 0; i < 15; i++) await new Promise((resolve) => setImmediate(resolve));
}

describe('trade follower', () => {
  function follow(chainId?: number) {
    const clock = manualClock(NOW);
    const log = scriptedBook(chainId);
    const changes: (PricedTrade | string)[] = [];
    const failures: unknown[] = [];
    const follower = createTradeFollower(
      log.book,
      {
        addPrice: () => {},
        addTrade: (trade) => void changes.push(trade),
        removeTrade: (key) => void changes.push(key),
        history: async () => [],
      },
      { clock, onFailure: (failure) => void failures.push(failure) },
    );
    onTestFinished(() => follower.stop());
    return { ...log, ...follower, clock, changes, failures };
  }

  test('adds trades with the amounts without the signed fee, and queries each order once', async () => {
    const { catchUp, write, changes, queried, failures } = follow();
    write(
      {},
      { type: 'created', cause: false },
      { order: 2, at: NOW - 1 },
      { order: 9 },
      { type: 'traded', cause: false },
    );
    write({}, { type: 'cancelled', order: 3 });
    await catchUp();
    const amounts = { sellToken: TOKEN, buyToken: USD, sellAmount: 100n, buyAmount: 200n };
    expect(changes).toEqual([
      { key: '1 7 0xd1', at: NOW, ...amounts },
      { key: '3 7 0xd3', at: NOW - 1, ...amounts },
      { key: '6 7 0xd6', at: NOW, ...amounts },
    ]);
    expect(queried).toEqual([[uid(1), uid(2), uid(9)]]);
    expect(failures).toEqual([]);
  });

  test.each([
    [1, WETH],
    [424_242, NATIVE],
  ])('adds trades into native currency of chain %i as trades into %s', async (chainId, buyToken) => {
    const { catchUp, write, changes } = follow(chainId);
    write({ order: 8 });
    await catchUp();
    expect(changes).toMatchObject([{ sellToken: TOKEN, buyToken }]);
  });

  test('removes reverted trades, and no other reverted events', async () => {
    const { catchUp, write, changes } = follow();
    write({});
    write({ type: 'reverted', reverted: 'invalidated', of: 1 }, { type: 'expired', reverted: 'traded', of: 1 });
    await catchUp();
    expect(changes.splice(0)).toHaveLength(1);
    write({ type: 'reverted', reverted: 'traded', of: 1 });
    await settle();
    expect(changes).toEqual(['1 7 0xd1']);
  });

  test('is that of the trades of the last day, also behind orders that were imported later', async () => {
    const { catchUp, write, changes } = follow();
    write({ at: NOW - DAY - 1 }, { at: NOW - DAY }, { at: NOW });
    for (let i = 0; i < 100; i++) write({ at: NOW - 3 * DAY, cause: false });
    await catchUp();
    expect(changes.map((each) => (typeof each === 'string' ? each : each.key))).toEqual(['2 7 0xd2', '3 7 0xd3']);
  });

  test('begins 200,000 entries before the end at most', async () => {
    const { catchUp, reads, book } = follow();
    book.log.last = async () => 200_005;
    await catchUp();
    expect(reads.at(-1)).toEqual([5, 200]);
  });

  test('reads batches of 200 until the end, then after a signal, or a second', async () => {
    const { catchUp, write, changes, reads, clock } = follow();
    for (let i = 0; i < 200; i++) write({});
    await catchUp();
    expect(changes).toHaveLength(200);
    const batches = () => reads.filter(([, limit]) => limit === 200).map(([id]) => id);
    expect(batches()).toEqual([0, 200]);
    write({});
    await settle();
    clock.advance(1000);
    await settle();
    expect([changes.length, batches()]).toEqual([201, [0, 200, 200, 201]]);
  });

  test('starts once, and reads from the start after it was stopped', async () => {
    const { catchUp, stop, write, changes, watchers, clock } = follow();
    write({});
    await Promise.all([catchUp(), catchUp()]);
    expect([changes.length, watchers.size]).toEqual([1, 1]);
    await stop();
    expect([watchers.size, clock.pending]).toEqual([0, 0]);
    await catchUp();
    expect(changes).toHaveLength(2);
  });
});

describe('own history', () => {
  interface Choice {
    readonly chains?: readonly number[];
    readonly tokens?: TokenLookup;
    readonly dollarTokens?: Readonly<Record<number, { readonly token: string; readonly decimals: number }>>;
  }

  function fixture({ chains = [1], tokens = () => ({ decimals: 0 }), dollarTokens }: Choice = {}) {
    const clock = manualClock(NOW);
    const books = chains.map((chainId) => scriptedBook(chainId));
    const failures: unknown[] = [];
    const reads: UsdPriceQuery[] = [];
    const own = createOwnHistory({
      books: books.map(({ book }) => ({ book }) as unknown as KnownBook), // the member that is used
      dollarTokens,
      tokens,
      readPrice: async (query) => void reads.push(query),
      clock,
      onFailure: (failure) => void failures.push(failure),
      assertStarted: () => {},
    });
    onTestFinished(() => own.stop());
    const history = async (token: Hex, chainId = 1) => own.priceHistory({ chainId, token }, SIGNAL);
    return { ...own, history, books, clock, failures, reads };
  }
  type Fixture = ReturnType<typeof fixture>;

  const DOLLARS = { 1: { token: USD.toUpperCase().replace('0X', '0x'), decimals: 0 } };
  const tradePeriods = ({ books }: Fixture, count: number, book = 0) => {
    for (let i = 0; i < count; i++) books[book]?.write({ at: NOW - (count - 1 - i) * PERIOD });
  };
  const tick = async ({ clock }: Fixture) => {
    clock.advance(PERIOD);
    await settle();
  };

  test('needs prices of 12 periods', async () => {
    const few = fixture({ dollarTokens: DOLLARS });
    tradePeriods(few, 11);
    expect(await few.history(TOKEN)).toBeUndefined();
    const enough = fixture({ dollarTokens: DOLLARS });
    tradePeriods(enough, 12);
    expect((await enough.history(TOKEN))?.map(({ price }) => price)).toEqual(Array.from({ length: 12 }, () => 2));
    expect(enough.name).toBe('own trades and prices');
  });

  test('consists of the trades of the same chain', async () => {
    const own = fixture({ chains: [1, 2], dollarTokens: { ...DOLLARS, 2: { token: USD, decimals: 0 } } });
    tradePeriods(own, 12, 1);
    expect(await own.history(TOKEN)).toBeUndefined();
    expect(await own.history(TOKEN, 2)).toHaveLength(12);
  });

  test('takes the decimals of a dollar token from its option', async () => {
    const tokens: TokenLookup = (_, token) => (token === TOKEN ? { decimals: 3 } : undefined);
    const own = fixture({ tokens, dollarTokens: { 1: { token: USD, decimals: 2 } } });
    tradePeriods(own, 12);
    expect((await own.history(TOKEN))?.at(-1)?.price).toBe(20);
  });

  test('is unknown for a token without decimals, and a failing lookup is reported', async () => {
    const unknown = fixture({ tokens: () => undefined, dollarTokens: DOLLARS });
    tradePeriods(unknown, 12);
    expect([await unknown.history(TOKEN), unknown.failures]).toEqual([undefined, []]);
    const failing = fixture({ tokens: () => Promise.reject(new Error('offline')), dollarTokens: DOLLARS });
    tradePeriods(failing, 12);
    expect([await failing.history(TOKEN), failing.failures]).toEqual([undefined, [new Error('offline')]]);
  });

  test('contains the prices that were read', async () => {
    const own = fixture();
    for (let i = 0; i < 12; i++) {
      own.addPrice({ chainId: 1, token: OTHER }, i);
      own.clock.set(NOW + (i + 1) * PERIOD);
    }
    expect((await own.history(OTHER))?.map(({ price }) => price)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect(await own.history(OTHER, 2)).toBeUndefined();
  });

  test('reads the price of a requested token once in 5 minutes, for an hour', async () => {
    const own = fixture();
    await own.history(TOKEN);
    own.clock.advance(PERIOD - 1);
    await settle();
    expect(own.reads).toEqual([]);
    own.clock.advance(1);
    await settle();
    expect(own.reads).toEqual([{ chainId: 1, token: TOKEN }]);
    for (let i = 0; i < 20; i++) await tick(own);
    expect(own.reads).toHaveLength(12);
  });

  test('reads each price once, however often and for however many tokens a history was requested', async () => {
    const own = fixture();
    for (const token of [TOKEN, OTHER, TOKEN, TOKEN]) await own.history(token);
    await tick(own);
    expect(own.reads.map(({ token }) => token)).toEqual([OTHER, TOKEN]);
  });

  test('prolongs the hour with each request', async () => {
    const own = fixture();
    await own.history(TOKEN);
    for (let i = 0; i < 12; i++) await tick(own);
    await own.history(TOKEN);
    for (let i = 0; i < 20; i++) await tick(own);
    expect(own.reads).toHaveLength(24);
  });

  test('reads the prices of the 32 tokens that were requested last', async () => {
    const own = fixture();
    for (let n = 100; n < 132; n++) await own.history(address(n));
    await own.history(address(100));
    await tick(own);
    expect(own.reads.splice(0)).toHaveLength(32);
    await own.history(address(200));
    await tick(own);
    expect(own.reads.map(({ token }) => Number(token))).toEqual([
      ...Array.from({ length: 30 }, (_, i) => 102 + i),
      100,
      200,
    ]);
  });

  test('ends with the account interface, and begins again with the next request', async () => {
    const own = fixture({ dollarTokens: DOLLARS });
    tradePeriods(own, 12);
    await own.history(TOKEN);
    await own.stop();
    expect([own.clock.pending, own.books[0]?.watchers.size]).toEqual([0, 0]);
    expect(await own.history(TOKEN)).toHaveLength(12);
    await tick(own);
    expect(own.reads).toHaveLength(1);
  });

  test('stops between two prices', async () => {
    const own = fixture();
    await own.history(TOKEN);
    await own.history(OTHER);
    own.clock.advance(PERIOD);
    await Promise.resolve(); // the run begins
    await own.stop();
    expect(own.reads).toHaveLength(1);
  });

  test.each([
    [USD, 0],
    [USD, 255],
  ])('accepts the dollar token %s with %i decimals', (token, decimals) => {
    expect(() => fixture({ dollarTokens: { 1: { token, decimals } } })).not.toThrow();
  });

  test.each([
    ['0x12', 6],
    [USD, -1],
    [USD, 256],
    [USD, 1.5],
  ])('rejects the dollar token %s with %d decimals', (token, decimals) => {
    expect(() => fixture({ dollarTokens: { 7: { token, decimals } } })).toThrow(
      new TypeError(`createAccounts: slippage.dollarTokens must be addresses with decimals, got ${token} of chain 7`),
    );
  });
});

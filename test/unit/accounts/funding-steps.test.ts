import type { AccountStore, Funds, Hex, Order } from 'intentbook';
import { memoryAccountStore } from 'intentbook/memory';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { KnownBook } from '../../../src/account-tools/account-books.ts';
import { createFundingCheck } from '../../../src/notifications/funding-check.ts';
import { manualClock } from '../../support/clock.ts';

const NOW = 1_700_000_000_000;
const OWNER: Hex = `0x${'ab'.repeat(20)}`;
const SETTLEMENT: Hex = `0x${'5e'.repeat(20)}`;
const [SELL, BUY] = [`0x${'e7'.repeat(20)}`, `0x${'c0'.repeat(20)}`] as const;
const uid = (n: number): Hex => `0x${n.toString(16).padStart(112, '0')}`;

const orderOf = (n: number, changes: Partial<Order> = {}) =>
  ({
    uid: uid(n),
    owner: OWNER,
    sellToken: SELL,
    buyToken: BUY,
    sellAmount: '100',
    buyAmount: '50',
    feeAmount: '0',
    kind: 'sell',
    partiallyFillable: false,
    executedSellAmount: '0',
    executedSellAmountBeforeFees: '0',
    executedBuyAmount: '0',
    executedFeeAmount: '0',
    sellTokenBalance: 'erc20',
    interactions: { pre: [], post: [] },
    status: 'open',
    ...changes,
  }) as unknown as Order; // the members that are used

interface Choice {
  /** Pages of open orders. */
  readonly pages?: readonly (readonly Order[])[];
  readonly funds?: () => Partial<Funds> | undefined;
  readonly interval?: number;
  readonly store?: Partial<AccountStore['notifications']>;
  readonly acquire?: AccountStore['leases']['acquire'];
  readonly chain?: string;
}

async function fixture(choice: Choice = {}) {
  const { pages = [[orderOf(1)]], funds = () => ({ balance: 0n }), interval = 60_000, chain } = choice;
  const clock = manualClock(NOW);
  const memory = memoryAccountStore();
  await memory.open({ clock });
  const calls: unknown[] = [];
  const appended: Parameters<AccountStore['notifications']['append']>[0][] = [];
  const failures: unknown[] = [];
  const wakes = { count: 0 };
  const closed = new Set<Hex>();
  const store: AccountStore = {
    ...memory,
    leases: {
      acquire(request) {
        calls.push(['lease', request.name, request.holder, request.ttl]);
        return choice.acquire?.(request) ?? memory.leases.acquire(request);
      },
      async release(lease) {
        calls.push(['release', lease.name, lease.holder]);
      },
    },
    notifications: {
      ...memory.notifications,
      append(batch) {
        appended.push(batch);
        return memory.notifications.append(batch);
      },
      ...choice.store,
    },
  };
  const book = {
    feed: 'log',
    env: 'production',
    book: {
      chainId: 5,
      settlementContract: SETTLEMENT,
      ready: async () => ({ ready: true, checks: chain === undefined ? {} : { chain } }),
      orders: {
        async list(query: { cursor?: string }) {
          calls.push(['list', query]);
          const at = Number(query.cursor ?? 0);
          return { orders: pages[at] ?? [], ...(at + 1 < pages.length && { next: String(at + 1) }) };
        },
        getMany: async (uids: readonly Hex[]) =>
          uids.map((each) => ({ order: orderOf(1, { uid: each, status: closed.has(each) ? 'cancelled' : 'open' }) })),
      },
      balances: {
        async funds(pairs: readonly { owner: Hex; token: Hex }[]) {
          calls.push(['funds', pairs]);
          return pairs.map(() => {
            const found = funds();
            return found && { balance: 1000n, allowance: 1000n, ...found };
          });
        },
      },
    },
  } as unknown as KnownBook; // the members that are used
  const check = createFundingCheck({
    book,
    store,
    clock,
    tokens: () => undefined,
    interval,
    holder: 'me',
    onAppended: () => void wakes.count++,
    onFailure: (failure) => void failures.push(failure),
  });
  onTestFinished(() => check.stop());
  check.start();
  return {
    calls,
    appended,
    failures,
    wakes,
    closed,
    clock,
    check,
    named: (name: string) => calls.filter((call) => Array.isArray(call) && call[0] === name),
    /** Runs the next check. */
    async next(ms = interval) {
      clock.advance(ms);
      for (let i = 0; i < 15; i++) await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

describe('funding check of a book', () => {
  test('begins after the first interval, and reads all pages under its lease', async () => {
    const { calls, next } = await fixture({ pages: [[orderOf(1)], [orderOf(2)], []], interval: 40_000 });
    await next(39_999);
    expect(calls).toEqual([]);
    await next(1);
    const lease = ['lease', `funding 5 ${SETTLEMENT}`, 'me', 80_000];
    const list = (cursor?: string) => ['list', { status: 'open', limit: 500, ...(cursor && { cursor }) }];
    const funds = ['funds', [{ owner: OWNER, token: SELL }]];
    expect(calls.slice(0, 7)).toEqual([lease, list(), funds, lease, list('1'), funds, lease]);
    expect(calls[7]).toEqual(list('2'));
  });

  test('has a lease of at least a minute', async () => {
    const { calls, next } = await fixture({ interval: 1000 });
    await next();
    expect(calls[0]).toEqual(['lease', `funding 5 ${SETTLEMENT}`, 'me', 60_000]);
  });

  test('is made by the process that has the lease', async () => {
    const taken = async () => ({ status: 'taken', holder: 'another', expiresAt: 0 }) as const;
    const { named, next } = await fixture({ acquire: taken });
    await next();
    expect(named('list')).toEqual([]);
  });

  test.each(['starting', 'catching up', 'unavailable', 'stopped'])(
    'is not made while the indexer is %s',
    async (chain) => {
      const { named, next } = await fixture({ chain });
      await next();
      expect([named('lease'), named('list')]).toEqual([[], []]);
    },
  );

  test('is made while the indexer follows', async () => {
    const { named, next } = await fixture({ chain: 'following' });
    await next();
    expect(named('list')).toHaveLength(1);
  });

  test('writes the second of two failed checks, and the next change back', async () => {
    let balance = 0n;
    const { appended, next, wakes } = await fixture({ funds: () => ({ balance }) });
    await next();
    expect(appended).toEqual([]);
    await next();
    expect(appended).toMatchObject([
      {
        feed: `funding 5 ${SETTLEMENT}`,
        after: null,
        through: 1,
        changes: [{ type: 'notify', notification: { account: OWNER, type: 'insufficient_balance' } }],
        marks: [{ key: uid(1), value: String(NOW + 120_000) }],
      },
    ]);
    expect(wakes.count).toBe(1);
    balance = 100n;
    await next();
    expect(appended[1]).toEqual({
      feed: `funding 5 ${SETTLEMENT}`,
      after: 1,
      through: 2,
      changes: [],
      marks: [{ key: uid(1), value: null }],
    });
    expect(wakes.count).toBe(1);
  });

  test.each<[string, AccountStore['notifications']['append'], number]>([
    ['another check was faster', async () => ({ status: 'moved', cursor: 1 }) as never, 0],
    ['nothing has changed', async () => ({ status: 'appended', changed: 0 }) as never, 0],
    ['a notification is new', async () => ({ status: 'appended', changed: 1 }) as never, 1],
  ])('wakes deliveries only if there are new ones: %s', async (_, append, count) => {
    const { next, wakes } = await fixture({ store: { append } });
    await next();
    await next();
    expect(wakes.count).toBe(count);
  });

  test('reports no order that was closed in the meantime', async () => {
    const { appended, next, closed } = await fixture();
    await next();
    closed.add(uid(1));
    await next();
    expect(appended).toEqual([]);
  });

  test('reads each pair of owner and token once', async () => {
    const other: Hex = `0x${'cd'.repeat(20)}`;
    const { named, next } = await fixture({
      pages: [[orderOf(1), orderOf(2), orderOf(3, { sellToken: BUY }), orderOf(4, { owner: other })]],
    });
    await next();
    expect(named('funds')).toEqual([
      [
        'funds',
        [
          { owner: OWNER, token: SELL },
          { owner: OWNER, token: BUY },
          { owner: other, token: SELL },
        ],
      ],
    ]);
  });

  test.each<[string, Partial<Order>, number]>([
    ['becomes valid now', { validFrom: NOW / 1000 + 60 }, 1],
    ['is not valid yet', { validFrom: NOW / 1000 + 61 }, 0],
    ['was placed on chain', { onchainOrderData: { sender: OWNER } } as Partial<Order>, 1],
    [
      'was placed on chain with an error',
      { onchainOrderData: { sender: OWNER, placementError: 'QuoteNotFound' } } as Partial<Order>,
      0,
    ],
  ])('covers an order that %s: %#', async (_, changes, count) => {
    const { named, next } = await fixture({ pages: [[orderOf(1, changes)]] });
    await next();
    expect(named('funds').flatMap((call) => (call as [string, unknown[]])[1])).toHaveLength(count);
  });

  test('decides nothing without the funds of an owner', async () => {
    const { appended, failures, next } = await fixture({ funds: () => undefined });
    for (let i = 0; i < 3; i++) await next();
    expect([appended, failures]).toEqual([[], []]);
  });

  test('stops between two pages and releases its lease', async () => {
    const { named, next, check, calls } = await fixture({ pages: [[orderOf(1)], [orderOf(2)]] });
    await next();
    await check.stop();
    expect(calls.at(-1)).toEqual(['release', `funding 5 ${SETTLEMENT}`, 'me']);
    await next();
    expect(named('list')).toHaveLength(2);
  });
});

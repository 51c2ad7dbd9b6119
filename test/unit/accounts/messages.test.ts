import assert from 'node:assert/strict';
import type { Address, FundsQuery, Hex, Order, StoredEvent } from 'intentbook';
import type { AccountsOptions } from 'intentbook/accounts';
import { describe, expect, test } from 'vitest';
import type { KnownBook } from '../../../src/account-tools/account-books.ts';
import { deriveNotifications } from '../../../src/notifications/notification-rules.ts';
import { FUNDED, scriptedChain } from '../../support/chain.ts';
import { hashOf, placementOf, TRADER, tradeOf } from '../../support/chain-events.ts';
import type { OrderChoice } from '../../support/orders.ts';
import { COW, signCancellation, WETH } from '../../support/orders.ts';
import type { AccountFixture } from './accounts-fixture.ts';
import { ALICE, ALICES, accountFixture, turns } from './accounts-fixture.ts';

/** The sentences are written from the descriptions of the types in the contract, not from the code. */
const NATIVE = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';
const [weth, cow] = [WETH.toLowerCase(), COW.toLowerCase()] as [Address, Address];
const OTHER: Address = `0x${'1f'.repeat(20)}`;
const UNIT = 10n ** 18n;
const units = (whole: number, decimals = 18) => String(BigInt(Math.round(whole * 1000)) * 10n ** BigInt(decimals - 3));

/** The tokens of the host: COW has 18 decimals. It does not know native currency. */
const tokens = (_chainId: number, token: Address) => (token === cow ? { decimals: 18, symbol: 'COW' } : undefined);

/** Sells 1 WETH for 2 COW. */
const ONE_FOR_TWO: OrderChoice = { sellAmount: units(1), buyAmount: units(2) };

interface Row {
  readonly name: string;
  readonly run: (fixture: AccountFixture) => Promise<unknown>;
  readonly account?: Address;
  readonly options?: Partial<AccountsOptions>;
  /** Type and sentence of each visible notification, oldest first. */
  readonly expected: readonly (readonly [type: string, message: string])[];
}

const fill = (fixture: AccountFixture, block: number, order: Order, sold: number, bought: number, tx?: Hex) =>
  fixture.applyBlock(block, [tradeOf(order, BigInt(units(sold)), BigInt(units(bought)), tx)]);

async function cancel({ book }: AccountFixture, { uid }: Order): Promise<void> {
  await book.orders.cancel({ orderUids: [uid], ...(await signCancellation(ALICE, { orderUids: [uid] })) });
}

async function expire({ clock, book }: AccountFixture, { uid }: Order): Promise<void> {
  clock.advance(611_000);
  await turns(async () => (await book.log.after(0, 100)).some((each) => each.type === 'expired' && each.uid === uid));
}

/** Places an order that sells native currency, and returns it. */
async function placeNativeSale({ applyBlock, book }: AccountFixture): Promise<Order> {
  const amounts = { sellAmount: UNIT, buyAmount: 2n * UNIT };
  await applyBlock(1, [placementOf({ sellToken: weth, buyToken: cow, ...amounts })]);
  const [order] = (await book.orders.list({ owner: TRADER })).orders;
  assert.ok(order);
  return order;
}

const SALE = 'Your order to exchange 1 WETH for 2 COW';

const ROWS: readonly Row[] = [
  {
    name: 'a complete fill',
    run: async (fixture) => fill(fixture, 1, await fixture.order(ONE_FOR_TWO), 1, 2.5),
    expected: [['order_filled', 'Your order was filled: 1 WETH for 2.5 COW']],
  },
  {
    name: 'a fill in two parts: the last sentence has the totals',
    async run(fixture) {
      const order = await fixture.order({ ...ONE_FOR_TWO, partiallyFillable: true });
      await fill(fixture, 1, order, 0.9, 1.8);
      await fixture.settled();
      await fill(fixture, 2, order, 0.1, 0.3);
    },
    expected: [
      ['order_partially_filled', 'Your order was filled in part: 0.9 WETH for 1.8 COW'],
      ['order_filled', 'Your order was filled: 1 WETH for 2.1 COW'],
    ],
  },
  {
    name: 'a purchase of native currency',
    run: async (fixture) =>
      fill(fixture, 1, await fixture.order({ ...ONE_FOR_TWO, sellToken: COW, buyToken: NATIVE, kind: 'buy' }), 1, 2),
    expected: [['order_filled', 'Your order was filled: 1 COW for 2 ETH']],
  },
  {
    name: 'a sale of native currency',
    account: TRADER,
    run: async (fixture) => fill(fixture, 2, await placeNativeSale(fixture), 1, 2),
    expected: [['order_filled', 'Your order was filled: 1 ETH for 2 COW']],
  },
  {
    name: 'a cancelled sale of native currency',
    account: TRADER,
    async run(fixture) {
      const { owner, uid: orderUid } = await placeNativeSale(fixture);
      await fixture.applyBlock(2, [{ event: 'OrderInvalidated', owner, orderUid }]);
    },
    expected: [['order_cancelled', 'Your order to exchange 1 ETH for 2 COW was cancelled']],
  },
  {
    name: 'a cancellation without a fill',
    run: async (fixture) => cancel(fixture, await fixture.order(ONE_FOR_TWO)),
    expected: [['order_cancelled', `${SALE} was cancelled`]],
  },
  {
    name: 'a cancellation after a part',
    async run(fixture) {
      const order = await fixture.order({ ...ONE_FOR_TWO, partiallyFillable: true });
      await fill(fixture, 1, order, 0.25, 0.5);
      fixture.clock.advance(60_000);
      await cancel(fixture, order);
    },
    expected: [
      ['order_partially_filled', 'Your order was filled in part: 0.25 WETH for 0.5 COW'],
      ['order_cancelled', `${SALE} was cancelled. It was filled in part: 0.25 WETH for 0.5 COW`],
    ],
  },
  {
    name: 'parts that lack one atom, and have one more: they do not seem complete',
    async run(fixture) {
      const order = await fixture.order({ ...ONE_FOR_TWO, partiallyFillable: true });
      await fixture.applyBlock(1, [tradeOf(order, UNIT - 1n, 2n * UNIT + 1n)]);
      await expire(fixture, order);
    },
    expected: [
      [
        'order_partially_filled',
        'Your order was filled in part: 0.999999999999999999 WETH for 2.000000000000000001 COW',
      ],
      [
        'order_expired',
        `${SALE} has expired. It was filled in part: 0.999999999999999999 WETH for 2.000000000000000001 COW`,
      ],
    ],
  },
  {
    name: 'a part whose other amount is that of the order',
    async run(fixture) {
      const order = await fixture.order({ sellAmount: '1234567890123456789', buyAmount: '2', partiallyFillable: true });
      await fixture.applyBlock(1, [tradeOf(order, 1_234_567_000_000_000_000n, 2n)]);
      fixture.clock.advance(60_000);
      await cancel(fixture, order);
    },
    expected: [
      ['order_partially_filled', 'Your order was filled in part: 1.234567 WETH for 0.000000000000000002 COW'],
      [
        'order_cancelled',
        'Your order to exchange 1.23457 WETH for 0.000000000000000002 COW was cancelled. ' +
          'It was filled in part: 1.234567 WETH for 0.000000000000000002 COW',
      ],
    ],
  },
  {
    name: 'an expiry without a fill',
    run: async (fixture) => expire(fixture, await fixture.order(ONE_FOR_TWO)),
    expected: [['order_expired', `${SALE} has expired`]],
  },
  {
    name: 'an expiry after 90 %',
    async run(fixture) {
      const order = await fixture.order({ ...ONE_FOR_TWO, partiallyFillable: true });
      await fill(fixture, 1, order, 0.9, 1.8);
      await expire(fixture, order);
    },
    expected: [
      ['order_partially_filled', 'Your order was filled in part: 0.9 WETH for 1.8 COW'],
      ['order_expired', `${SALE} has expired. It was filled in part: 0.9 WETH for 1.8 COW`],
    ],
  },
  {
    name: 'an expiry after a fill that was rolled back',
    async run(fixture) {
      const order = await fixture.order({ ...ONE_FOR_TWO, partiallyFillable: true });
      await fixture.applyBlock(1, []);
      await fill(fixture, 2, order, 0.9, 1.8);
      await fixture.book.chain.rollback(1);
      await expire(fixture, order);
    },
    expected: [['order_expired', `${SALE} has expired`]],
  },
  {
    name: 'a transaction that is read twice',
    async run(fixture) {
      const order = await fixture.order(ONE_FOR_TWO);
      await fixture.applyBlock(1, []);
      for (const fork of ['a', 'b']) {
        await fixture.applyBlock(2, [tradeOf(order, UNIT, 2n * UNIT, hashOf('settled'))], fork);
        await fixture.settled();
        if (fork === 'a') await fixture.book.chain.rollback(1);
      }
    },
    expected: [['order_filled', 'Your order was filled: 1 WETH for 2 COW']],
  },
  {
    name: 'a fill that a reorganisation has reverted',
    options: { revertedNotifications: 'on' },
    async run(fixture) {
      const order = await fixture.order(ONE_FOR_TWO);
      await fixture.applyBlock(1, []);
      await fill(fixture, 2, order, 1, 2.5);
      await fixture.settled();
      await fixture.book.chain.rollback(1);
    },
    expected: [['order_reverted', 'A reorganisation of the chain reverted a fill of your order: 1 WETH for 2.5 COW']],
  },
  {
    name: 'a fill that is restored with another amount',
    options: { revertedNotifications: 'on' },
    async run(fixture) {
      const order = await fixture.order(ONE_FOR_TWO);
      await fixture.applyBlock(1, []);
      await fill(fixture, 2, order, 1, 2.5, hashOf('settled'));
      await fixture.settled();
      await fixture.book.chain.rollback(1);
      await fixture.settled();
      fixture.clock.advance(1_000);
      await fixture.applyBlock(2, [tradeOf(order, UNIT, 3n * UNIT, hashOf('settled'))], 'b');
    },
    expected: [
      ['order_filled', 'Your order was filled: 1 WETH for 3 COW'],
      ['order_reverted', 'A fill of your order was reverted, and is on the chain again: 1 WETH for 3 COW'],
    ],
  },
  {
    name: 'a reverted fill without the option',
    async run(fixture) {
      const order = await fixture.order(ONE_FOR_TWO);
      await fixture.applyBlock(1, []);
      await fill(fixture, 2, order, 1, 2.5);
      await fixture.settled();
      await fixture.book.chain.rollback(1);
    },
    expected: [],
  },
  {
    name: 'dust, and a token without a symbol',
    run: async (fixture) =>
      fixture.applyBlock(1, [
        tradeOf(await fixture.order({ sellAmount: '1', buyAmount: '1', sellToken: WETH, buyToken: ALICES }), 1n, 1n),
      ]),
    expected: [['order_filled', `Your order was filled: 0.000000000000000001 WETH for 1 atoms of ${ALICES}`]],
  },
];

describe('message', () => {
  test.each(ROWS)('of $name', async ({ run, expected, options, account = ALICES }) => {
    await using fixture = await accountFixture({ tokens, ...options });
    await run(fixture);
    const listed = await fixture.listNotifications(account);
    expect(listed.map(({ type, message }) => [type, message])).toEqual(expected);
    expect(fixture.failures).toEqual([]);
  });

  test.each([
    ['no table and no chain client', {}, `1 atoms of ${OTHER}`],
    [
      'a chain client',
      { bookOptions: { chain: scriptedChain({ tokenInfo: () => ({ decimals: 0, symbol: 'C' }) }) } },
      `1 C (${OTHER})`,
    ],
    ['a table of the host', { tokens: () => ({ decimals: 1, symbol: 'T' }) }, '0.1 T'],
  ])('names native currency with %s', async (_name, options, sold) => {
    await using fixture = await accountFixture(options);
    const order = await fixture.order({ sellToken: OTHER, sellAmount: '1', buyToken: NATIVE, buyAmount: units(2) });
    await fixture.applyBlock(1, [tradeOf(order, 1n, 2n * UNIT)]);
    const [notification] = await fixture.listNotifications();
    expect(notification?.message).toBe(`Your order was filled: ${sold} for 2 ETH`);
  });

  test.each([
    ['balance', 5n * (UNIT / 10n), UNIT, 'it needs 1 WETH, you have 0.5 WETH'],
    ['balance', 0n, UNIT, 'it needs 1 WETH, you have 0 WETH'],
    ['balance', UNIT - 1n, UNIT, 'it needs 1 WETH, you have 0.999999999999999999 WETH'],
    ['allowance', UNIT, 0n, 'it needs 1 WETH, you have allowed 0 WETH'],
    [undefined, undefined, undefined, ''],
    [undefined, UNIT, UNIT, ''],
  ])('of missing %s: %s and %s', async (lacking, balance, allowance, end) => {
    let isRead = false;
    const balanceAndAllowance = (_query: FundsQuery) => {
      if (!isRead) return FUNDED;
      return balance === undefined || allowance === undefined ? undefined : { balance, allowance };
    };
    const chain = scriptedChain({ balanceAndAllowance });
    await using fixture = await accountFixture({ tokens, fundingInterval: 60_000, bookOptions: { chain } });
    await fixture.order(ONE_FOR_TWO);
    isRead = true;
    for (let i = 0; i < 3; i++) {
      const before = chain.recordedCalls.length;
      fixture.clock.advance(60_000);
      await turns(() => chain.recordedCalls.length > before);
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
    const listed = await fixture.listNotifications();
    expect(listed.map(({ type, message }) => [type, message])).toEqual(
      lacking === undefined
        ? []
        : [['insufficient_balance', `Your ${lacking} is too low for your order to exchange 1 WETH for 2 COW: ${end}`]],
    );
  });
});

const [USDX, ETHER] = [
  { decimals: 6, symbol: 'USDX' },
  { decimals: 18, symbol: 'WETH' },
];
const UID: Hex = `0x${'12'.repeat(56)}`;

/** Returns the sentences of one fill of an order with a quote. */
function describeFill(
  kind: 'sell' | 'buy',
  quote: object,
  limit: readonly [string, string],
  trade: readonly [string, string],
) {
  const [sellAmount, buyAmount] = limit;
  const order = { uid: UID, kind, owner: ALICES, sellToken: weth, buyToken: cow, sellAmount, buyAmount, quote };
  const executed = { executedSellAmount: trade[0], executedBuyAmount: trade[1] };
  const amounts = { ordinal: 1, completes: false, sellAmount: trade[0], buyAmount: trade[1], feeAmount: '0' };
  const position = { blockNumber: 1, blockHash: hashOf('b'), logIndex: 0, transactionHash: hashOf('t') };
  const event = { id: 1, type: 'traded', uid: UID, owner: ALICES, at: 0, cause: { position, trade: amounts } };
  const { changes } = deriveNotifications([event as StoredEvent], {
    book: { book: { chainId: 5 }, env: 'local', feed: 'log' } as unknown as KnownBook, // the members that are used
    orders: new Map([[UID, { ...order, ...executed } as unknown as Order]]),
    getTokens: () => ({ sell: ETHER, buy: USDX }),
    marks: new Map(),
    revertedNotifications: false,
  });
  const bodies = changes.flatMap((each) => (each.type === 'notify' ? [JSON.parse(each.notification.body)] : []));
  return bodies.find(({ type }) => type === 'price_improvement');
}

describe('message of a price improvement', () => {
  const quote = (sellAmount: string, buyAmount: string) => ({ sellAmount, buyAmount, feeAmount: '0' });
  const ONE = units(1);
  const [USD_3000, USD_3120] = [units(3000, 6), units(3120, 6)];

  test.each([
    [
      'sell',
      [ONE, units(2900, 6)],
      [ONE, USD_3120],
      'You received 120 USDX more than you were quoted: 1 WETH for 3120 USDX',
    ],
    ['sell', [ONE, units(3100, 6)], [ONE, USD_3120], 'You received 20 USDX more than your limit: 1 WETH for 3120 USDX'],
    [
      'buy',
      [units(1.1), USD_3000],
      [units(0.96), USD_3000],
      'You paid 0.04 WETH less than you were quoted: 0.96 WETH for 3000 USDX',
    ],
    [
      'buy',
      [units(0.98), USD_3000],
      [units(0.96), USD_3000],
      'You paid 0.02 WETH less than your limit: 0.96 WETH for 3000 USDX',
    ],
    [
      'buy',
      [units(1.1), USD_3000],
      [units(0.48), units(1500, 6)],
      'You paid 0.02 WETH less than you were quoted: 0.48 WETH for 1500 USDX',
    ],
  ] as const)('of a %s of %j for %j', (kind, limit, trade, message) => {
    expect(describeFill(kind, quote(ONE, USD_3000), limit, trade)?.message).toBe(message);
  });

  test.each([
    ['a sale at the quote', 'sell', [ONE, units(2900, 6)], [ONE, USD_3000]],
    ['a sale one atom above it', 'sell', [ONE, units(2900, 6)], [ONE, '3000000001']],
    ['a part of a sale at the quoted price', 'sell', [ONE, units(2900, 6)], [units(0.2), units(600, 6)]],
    ['a sale at its limit above the quote', 'sell', [ONE, units(3100, 6)], [ONE, units(3100, 6)]],
    ['a purchase at the quote', 'buy', [units(1.1), USD_3000], [ONE, USD_3000]],
    ['a purchase one atom below it', 'buy', [units(1.1), USD_3000], [String(UNIT - 1n), USD_3000]],
    ['a part of a purchase at the quoted price', 'buy', [units(1.1), USD_3000], [units(0.2), units(600, 6)]],
    ['a purchase above the quote', 'buy', [units(1.1), USD_3000], [units(1.05), USD_3000]],
  ] as const)('is missing for %s', (_name, kind, limit, trade) => {
    expect(describeFill(kind, quote(ONE, USD_3000), limit, trade)).toBeUndefined();
  });

  test('has the amounts of the token that was saved', () => {
    const { metadata } = describeFill('buy', quote(ONE, USD_3000), [units(1.1), USD_3000], [units(0.96), USD_3000]);
    expect(metadata).toMatchObject({ quotedSellAmount: ONE, surplusAmount: units(0.04), surplusToken: weth });
    expect(metadata).not.toHaveProperty('quotedBuyAmount');
  });
});

import type { FundsQuery, Hex, Order, StoredEvent } from 'intentbook';
import { describe, expect, test } from 'vitest';
import type { KnownBook } from '../../../src/account-tools/account-books.ts';
import { deriveNotifications } from '../../../src/notifications/notification-rules.ts';
import { FUNDED, scriptedChain } from '../../support/chain.ts';
import { hashOf, tradeOf } from '../../support/chain-events.ts';
import type { OrderChoice } from '../../support/orders.ts';
import { ALICES, accountFixture, turns } from './accounts-fixture.ts';
import { cow, MESSAGE_ROWS, NATIVE, ONE_FOR_TWO, OTHER, tokens, UNIT, units, weth } from './message-rows.ts';

describe('message', () => {
  test.each(MESSAGE_ROWS)('of $name', async ({ run, expected, options, account = ALICES }) => {
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

  test.each<[string | undefined, bigint | undefined, bigint | undefined, string, OrderChoice?]>([
    ['balance', 5n * (UNIT / 10n), UNIT, 'it needs 1 WETH, you have 0.5 WETH'],
    ['balance', 0n, UNIT, 'it needs 1 WETH, you have 0 WETH'],
    ['balance', UNIT - 1n, UNIT, 'it needs 1 WETH, you have 0.999999999999999999 WETH'],
    ['allowance', UNIT, 0n, 'it needs 1 WETH, you have allowed 0 WETH'],
    ['balance', 0n, 0n, 'you have 0 WETH', { partiallyFillable: true }],
    ['allowance', 1n, 0n, 'you have allowed 0 WETH', { partiallyFillable: true }],
    [undefined, 1n, 1n, '', { partiallyFillable: true }],
    [undefined, undefined, undefined, ''],
    [undefined, UNIT, UNIT, ''],
  ])('of missing %s: %s and %s', async (lacking, balance, allowance, end, choice = {}) => {
    let isRead = false;
    const balanceAndAllowance = (_query: FundsQuery) => {
      if (!isRead) return FUNDED;
      return balance === undefined || allowance === undefined ? undefined : { balance, allowance };
    };
    const chain = scriptedChain({ balanceAndAllowance });
    await using fixture = await accountFixture({ tokens, fundingInterval: 60_000, bookOptions: { chain } });
    await fixture.order({ ...ONE_FOR_TWO, ...choice });
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

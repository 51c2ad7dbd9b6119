import assert from 'node:assert/strict';
import type { Hex, Order } from 'intentbook';
import { createOrderBook } from 'intentbook';
import type { Notification } from 'intentbook/accounts';
import { createAccounts } from 'intentbook/accounts';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { describe, test } from 'vitest';
import { formatAmount } from '../../../src/notifications/notification-rules.ts';
import { computeImprovement } from '../../../src/notifications/price-improvement.ts';
import { blockOf, eventsIn, hashOf, placementOf, TRADER, tradeOf } from '../../support/chain-events.ts';
import { COW, signCancellation, WETH } from '../../support/orders.ts';
import { ALICE, ALICES, accountFixture, settle } from '../accounts/accounts-fixture.ts';

const [SELL, BUY] = [WETH.toLowerCase() as Hex, COW.toLowerCase() as Hex]; // in lower case
const TX = hashOf('a settlement');

/** Returns the identifying data of a notification, without its text. */
const brief = ({ type, metadata }: Notification) => {
  const { orderUid: _uid, chainId: _chain, env: _env, ...rest } = metadata;
  return [type, rest];
};

describe('notification', () => {
  test('of a fill has its amounts, transaction, order, chain and environment', async () => {
    await using fixture = await accountFixture();
    const order = await fixture.order();
    await fixture.applyBlock(5, [tradeOf(order, 1000n, 590n, TX)]);
    const [listNotifications, ...more] = await fixture.listNotifications();
    assert.ok(listNotifications);
    assert.deepEqual(more, []);
    assert.deepEqual(
      { ...listNotifications, id: '' },
      {
        id: '',
        account: ALICES,
        type: 'order_filled',
        message: `Your order was filled: 0.000000000000001 WETH for 0.00000000000000059 COW`,
        timestamp: new Date((1_700_000_000 + 5 * 12) * 1000).toISOString(),
        metadata: {
          orderUid: order.uid,
          chainId: 11155111,
          env: 'production',
          executedSellAmount: '1000',
          executedBuyAmount: '590',
          totalSellAmount: '1000',
          totalBuyAmount: '590',
          txHash: TX,
        },
      },
    );
  });

  test('of a partial fill is one per trade, and the completing trade is a fill only', async () => {
    await using fixture = await accountFixture();
    const order = await fixture.order({ partiallyFillable: true });
    await fixture.applyBlock(5, [tradeOf(order, 300n, 120n, TX), tradeOf(order, 300n, 121n, TX)]);
    await fixture.applyBlock(6, [tradeOf(order, 400n, 200n)]);
    const listNotifications = await fixture.listNotifications();
    assert.deepEqual(
      listNotifications.map(({ type }) => type),
      ['order_partially_filled', 'order_partially_filled', 'order_filled'],
    );
    assert.equal(new Set(listNotifications.map(({ id }) => id)).size, 3);
  });

  test('uses the table of the host, then the symbol of common tokens with the decimals of the contract', async () => {
    const chain = { tokenInfo: async () => ({ decimals: 2, symbol: 'BBB' }) };
    const tokens = (_: number, token: string) => (token === SELL ? { decimals: 2, symbol: 'S' } : undefined);
    await using fixture = await accountFixture({ tokens, bookOptions: { chain } });
    await fixture.applyBlock(5, [tradeOf(await fixture.order(), 1000n, 590n)]);
    const [notification] = await fixture.listNotifications();
    assert.equal(
      notification?.message,
      'Your order was filled: 10 S for 5.9 COW',
      'symbol of the table, decimals of the chain',
    );
  });

  test('uses the units of known tokens and survives a failed lookup', async () => {
    await using fixture = await accountFixture({
      tokens: (_chainId, token) => {
        if (token === SELL) throw new Error('out of reach');
        return { decimals: 2, symbol: 'COW\n' };
      },
    });
    await fixture.applyBlock(5, [tradeOf(await fixture.order(), 1000n, 590n)]);
    const [listNotifications] = await fixture.listNotifications();
    assert.equal(listNotifications?.message, `Your order was filled: 1000 atoms of ${SELL} for 5.9 COW`);
    assert.equal(fixture.failures.length, 1);
  });

  test.each([
    ['by a signature', false],
    ['on chain', true],
  ])('reports a cancellation %s', async (_name, onChain) => {
    await using fixture = await accountFixture();
    const order = await fixture.order();
    if (onChain) {
      await fixture.applyBlock(5, [
        { event: 'OrderInvalidated', owner: order.owner, orderUid: order.uid, transactionHash: TX },
      ]);
    } else {
      const orderUids = [order.uid];
      const signed = await signCancellation(ALICE, { orderUids });
      assert.equal((await fixture.book.orders.cancel({ orderUids, ...signed })).status, 'cancelled');
    }
    assert.deepEqual((await fixture.listNotifications()).map(brief), [
      ['order_cancelled', onChain ? { txHash: TX } : {}],
    ]);
  });

  test('reports a replaced order', async () => {
    await using fixture = await accountFixture();
    const old = await fixture.order();
    const appData = JSON.stringify({ metadata: { replacedOrder: { uid: old.uid } } });
    await fixture.order({ appData });
    const listNotifications = await fixture.listNotifications();
    assert.deepEqual(
      listNotifications.map(({ type, metadata }) => [type, metadata['orderUid']]),
      [['order_cancelled', old.uid]],
    );
  });

  test('reports an expiry within five seconds, once, and not for filled or cancelled orders', async () => {
    await using fixture = await accountFixture();
    const [expiring, filled] = [await fixture.order(), await fixture.order({ sellAmount: '7' })];
    await fixture.applyBlock(5, [tradeOf(filled, 7n, 500n)]);
    fixture.clock.advance(601_000 - 1);
    assert.deepEqual((await fixture.listNotifications()).map(brief).length, 1);
    fixture.clock.advance(5_001);
    await new Promise((resolve) => setImmediate(resolve));
    const listNotifications = await fixture.listNotifications();
    const expired = listNotifications.filter(({ type }) => type === 'order_expired');
    assert.deepEqual(
      expired.map(({ metadata }) => metadata['orderUid']),
      [expiring.uid],
    );
    assert.equal(expired[0]?.timestamp, new Date((expiring.validTo + 1) * 1000).toISOString());
    assert.deepEqual(fixture.failures, []);
  });

  test('names tokens by symbol and decimals if the book has a chain client', async () => {
    const chain = { tokenInfo: async () => ({ decimals: 1, symbol: 'BBB' }) };
    await using fixture = await accountFixture({ bookOptions: { chain } });
    const buyToken: Hex = `0x${'1f'.repeat(20)}`;
    const order = await fixture.order({ sellAmount: '70', buyToken });
    await fixture.applyBlock(5, [tradeOf(order, 70n, 500n)]);
    const [notification] = await fixture.listNotifications();
    // The contract alone states the symbol.
    assert.ok(notification?.message.endsWith(` WETH for 50 BBB (${buyToken})`), notification?.message);
  });

  test('of an order owned by a contract goes to the user who placed it', async () => {
    await using fixture = await accountFixture();
    await fixture.applyBlock(5, [placementOf({ sellToken: SELL, buyToken: BUY })]);
    const [order] = await fixture.book.orders.list({ owner: TRADER }).then(({ orders }) => orders);
    assert.ok(order);
    await fixture.applyBlock(6, [tradeOf(order, 1000n, 400n)]);
    assert.deepEqual(
      (await fixture.listNotifications(TRADER)).map(({ type, account }) => [type, account]),
      [['order_filled', TRADER]],
    );
    assert.deepEqual(await fixture.listNotifications(order.owner), []);
  });

  test('is not created for a presign order that was never signed, but is for a signed one', async () => {
    await using fixture = await accountFixture();
    const presign = { signingScheme: 'presign', signature: '0x', from: ALICE.address };
    const uids: Hex[] = [];
    for (const sellAmount of ['1', '2', '3', '4']) uids.push((await fixture.order({ sellAmount }, presign)).uid);
    const [never, signed, revoked] = uids as [Hex, Hex, Hex, Hex];
    const sign = (orderUid: Hex, yes: boolean) =>
      ({ event: 'PreSignature', owner: ALICES, orderUid, signed: yes }) as const;
    await fixture.applyBlock(5, [sign(signed, true), sign(revoked, true)]);
    await fixture.applyBlock(6, [sign(revoked, false)]);
    for (const [i, orderUid] of [never, signed, revoked].entries()) {
      await fixture.applyBlock(7 + i, [{ event: 'OrderInvalidated', owner: ALICES, orderUid }]);
    }
    assert.deepEqual(
      (await fixture.listNotifications()).map(({ type, metadata }) => [type, metadata['orderUid']]),
      [
        ['order_cancelled', signed],
        ['order_cancelled', revoked],
      ],
    );
    fixture.clock.advance(700_000);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal((await fixture.listNotifications()).length, 2, 'an unsigned order has no expiry notification');
  });

  test('is withdrawn with its block and restored under its id in another block', async () => {
    await using fixture = await accountFixture();
    const order = await fixture.order();
    await fixture.applyBlock(5, [tradeOf(order, 1000n, 590n, TX)]);
    const [first] = await fixture.listNotifications();
    await fixture.book.chain.rollback(4);
    assert.deepEqual(await fixture.listNotifications(), []);
    await fixture.applyBlock(6, [tradeOf(order, 1000n, 600n, TX)], 'b');
    const [again] = await fixture.listNotifications();
    // It has the amounts and the time of the trade in the new block.
    assert.deepEqual([again?.id, again?.metadata['executedBuyAmount']], [first?.id, '600']);
    assert.notEqual(again?.timestamp, first?.timestamp);
    await fixture.book.chain.rollback(4);
    await fixture.applyBlock(5, [tradeOf(order, 1000n, 590n, hashOf('another transaction'))], 'c');
    const [other] = await fixture.listNotifications();
    assert.notEqual(other?.id, first?.id);
  });

  test('names chain and environment if there are several books', async () => {
    await using production = await accountFixture();
    const { clock } = production;
    const staging = createOrderBook({
      chainId: 1,
      store: memoryStore(),
      clock,
      settlementContract: '0xf553d092b50bdcbddeD1A99aF2cA29FBE5E2CB13',
    });
    const own = createOrderBook({
      chainId: 31337,
      store: memoryStore(),
      settlementContract: `0x${'77'.repeat(20)}`,
      clock,
    });
    const store = memoryAccountStore();
    const books = [production.book, staging, { book: own, env: 'playground' }];
    await using accounts = createAccounts({ books, store, clock });
    for (const book of [staging, own]) {
      await book.start();
      const events = (orderUid: Hex) => [tradeOf({ ...ORDER, uid: orderUid }, 1000n, 400n)];
      const placed = eventsIn(blockOf(1), [placementOf({ sellToken: SELL, buyToken: BUY })]);
      await book.chain.apply({ events: placed, through: blockOf(1) });
      const [order] = (await book.orders.list({ owner: TRADER })).orders;
      await book.chain.apply({ events: eventsIn(blockOf(2), events(order?.uid ?? '0x')), through: blockOf(2) });
    }
    await accounts.start();
    for (const book of [staging, own]) await settle(book, store);
    const { notifications } = await accounts.notifications.list(TRADER);
    assert.deepEqual(notifications.map(({ metadata }) => [metadata['chainId'], metadata['env']]).sort(), [
      [1, 'staging'],
      [31337, 'playground'],
    ]);
    await accounts.close();
    for (const book of [staging, own]) await book.close();
  });
});

const ORDER = { owner: TRADER, sellToken: SELL, buyToken: BUY } as Order; // the trade data of the notification

describe('price improvement', () => {
  // A sale of 10,000,000 with a fee of 1 %: 5,000,000 atoms before the fee, 4,950,000 after it.
  const sale = { sellAmount: '10000000', buyAmount: '5000000', feeAmount: '100000' };
  // A purchase of 5,000,000 for 9,900,000 and a fee of 100,000.
  const purchase = { sellAmount: '9900000', buyAmount: '5000000', feeAmount: '100000' };
  const quoted = (expected: string, surplus: string) => ({ reference: 'quote', expected, surplus });
  test.each([
    ['sell', 'exact amount after the fee', '10000000', '4950000', undefined],
    ['sell', 'less', '10000000', '4949999', undefined],
    ['sell', 'one atom more', '10000000', '4950001', undefined],
    ['sell', 'less than a basis point more', '10000000', '4950494', undefined],
    ['sell', 'a basis point more', '10000000', '4950495', quoted('4950000', '495')],
    ['sell', 'amount before the fee', '10000000', '5000000', quoted('4950000', '50000')],
    ['sell', 'part at the quoted rate, rounded up', '3333333', '1650000', undefined],
    ['sell', 'part at a better rate', '3333333', '1660000', quoted('1650000', '10000')],
    ['sell', 'dust at the quoted rate, rounded up', '3', '2', undefined],
    ['sell', 'dust, one atom above it', '3', '3', undefined],
    ['buy', 'exact quoted amount', '10000000', '5000000', undefined],
    ['buy', 'a higher payment', '10000001', '5000000', undefined],
    ['buy', 'one atom less', '9999999', '5000000', undefined],
    ['buy', 'a basis point less', '9999000', '5000000', quoted('10000000', '1000')],
    ['buy', 'lower payment', '9000000', '5000000', quoted('10000000', '1000000')],
    ['buy', 'part at the quoted rate, rounded down', '3333333', '1666667', undefined],
    ['buy', 'part for less', '3000000', '1666667', quoted('3333334', '333334')],
    ['buy', 'dust', '1', '1', undefined],
  ] as const)('of a %s: %s', (kind, _name, sellAmount, buyAmount, expected) => {
    const quote = kind === 'sell' ? sale : purchase;
    const order = { kind, sellAmount: '10000000', buyAmount: kind === 'sell' ? '1' : '5000000' } as const;
    const limit = kind === 'sell' ? order : { ...order, sellAmount: '20000000' };
    assert.deepEqual(computeImprovement(limit, quote, { sellAmount, buyAmount }), expected);
  });

  test.each([
    ['sell', 'filled at its limit', '5098500', undefined],
    ['sell', 'filled above its limit', '5100000', { reference: 'limit', expected: '5098500', surplus: '1500' }],
  ] as const)('of a %s whose limit demands more than the quote: %s', (kind, _name, buyAmount, expected) => {
    const order = { kind, sellAmount: '10000000', buyAmount: '5098500' };
    assert.deepEqual(computeImprovement(order, sale, { sellAmount: '10000000', buyAmount }), expected);
  });

  test('of a purchase whose limit demands a lower payment than the quote is compared with the limit', () => {
    const order = { kind: 'buy', sellAmount: '9000000', buyAmount: '5000000' } as const;
    assert.equal(computeImprovement(order, purchase, { sellAmount: '9000000', buyAmount: '5000000' }), undefined);
    assert.deepEqual(computeImprovement(order, purchase, { sellAmount: '8000000', buyAmount: '5000000' }), {
      reference: 'limit',
      expected: '9000000',
      surplus: '1000000',
    });
  });

  test('is compared with the limit if the quoted fee exceeds the quoted sell amount', () => {
    const quote = { sellAmount: '10', buyAmount: '500', feeAmount: '11' };
    const order = { kind: 'sell', sellAmount: '10', buyAmount: '400' } as const;
    const trade = { sellAmount: '10', buyAmount: '410' };
    assert.deepEqual(computeImprovement(order, quote, trade), { reference: 'limit', expected: '400', surplus: '10' });
  });
});

describe('notification amount', () => {
  test.each([
    ['1500000', { decimals: 6, symbol: 'USDC' }, '1.5 USDC'],
    ['2059192059565498395', { decimals: 18, symbol: 'COW' }, '2.05919 COW'],
    ['123456789000000000000000', { decimals: 18, symbol: 'COW' }, '123457 COW'],
    ['12345678901', { decimals: 6, symbol: 'USDC' }, '12345.7 USDC'],
    ['1234567890123', { decimals: 6, symbol: 'USDC' }, '1234568 USDC'],
    ['999999900000000000', { decimals: 18, symbol: 'WETH' }, '1 WETH'],
    ['100000', { decimals: 18, symbol: 'WETH' }, '0.0000000000001 WETH'],
    ['1234567', { decimals: 0, symbol: 'NFT' }, '1234567 NFT'],
    ['1500000', { decimals: 6, symbol: 'FAKE', isUnverified: true }, `1.5 FAKE (${SELL})`],
    ['1500000', { decimals: 6, symbol: 'not a name', isUnverified: true }, `1.5 tokens of ${SELL}`],
    ['1', { decimals: 18, symbol: 'WETH' }, '0.000000000000000001 WETH'],
    ['7', { decimals: 0, symbol: 'NFT' }, '7 NFT'],
    ['7', { decimals: 18 }, `0.000000000000000007 tokens of ${SELL}`],
    ['7', { symbol: 'X' }, `7 atoms of ${SELL}`],
    ['7', { decimals: 300, symbol: 'X' }, `7 atoms of ${SELL}`],
    ['7', { decimals: 255, symbol: 'X' }, `0.${'0'.repeat(254)}7 X`],
    ['7', { decimals: 256, symbol: 'X' }, `7 atoms of ${SELL}`],
    ['7', { decimals: -1, symbol: 'X' }, `7 atoms of ${SELL}`],
    ['7', { decimals: 0.5, symbol: 'X' }, `7 atoms of ${SELL}`],
    ['7', { decimals: 0, symbol: '' }, `7 tokens of ${SELL}`],
    ...[
      'visit evil.example',
      'evil.example',
      'https://evil.example',
      '000USDC',
      '5',
      'USDС',
      'a-b',
      `${'c'.repeat(21)}`,
    ].map((symbol): [string, object, string] => ['7', { decimals: 0, symbol }, `7 tokens of ${SELL}`]),
    ['7', { decimals: 0, symbol: ' USDC\n' }, '7 USDC'],
    ['7', { decimals: 0, symbol: ' \u202e\u0000' }, `7 tokens of ${SELL}`],
    ['7', { decimals: 0, symbol: 'A\u202e\u200bB' }, `7 tokens of ${SELL}`],
    ['7', { decimals: 0, symbol: `${'c'.repeat(19)} d` }, `7 tokens of ${SELL}`],
    ['7', { decimals: 0, symbol: 'c'.repeat(20) }, `7 ${'c'.repeat(20)}`],
    ['7', undefined, `7 atoms of ${SELL}`],
  ])('%s of %o is %s', (atoms, token, text) => {
    assert.equal(formatAmount(atoms, SELL, token), text);
  });
});

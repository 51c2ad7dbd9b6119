import assert from 'node:assert/strict';
import type { Hex, Order } from 'intentbook';
import { createOrderBook } from 'intentbook';
import type { Notification } from 'intentbook/accounts';
import { createAccounts } from 'intentbook/accounts';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { describe, test } from 'vitest';
import { formatAmount } from '../../../src/accounts/notification-messages.ts';
import { computeImprovement } from '../../../src/accounts/price-improvement.ts';
import { blockOf, eventsIn, hashOf, placementOf, TRADER, tradeOf } from '../../support/chain-events.ts';
import { COW, signCancellation, WETH } from '../../support/orders.ts';
import { ALICE, ALICES, accountFixture, settle } from './accounts-fixture.ts';

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
        message: `Your order was filled: 0.000000000000001 WETH for 590 atoms of ${BUY}`,
        timestamp: new Date((1_700_000_000 + 5 * 12) * 1000).toISOString(),
        metadata: {
          orderUid: order.uid,
          chainId: 11155111,
          env: 'production',
          executedSellAmount: '1000',
          executedBuyAmount: '590',
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
    const order = await fixture.order({ sellAmount: '70' });
    await fixture.applyBlock(5, [tradeOf(order, 70n, 500n)]);
    const [notification] = await fixture.listNotifications();
    assert.match(notification?.message ?? '', / WETH for 50 BBB$/);
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
    await fixture.applyBlock(6, [tradeOf(order, 1000n, 590n, TX)], 'b');
    assert.deepEqual(await fixture.listNotifications(), [first]);
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
  const PARTIAL = 'partial fill at the quoted rate, rounded in favour of the quote';
  // A sell of 1000 with a fee of 10: 500 atoms for the whole amount, 495 after the fee.
  const sellQuote = { sellAmount: '1000', buyAmount: '500', feeAmount: '10' };
  // A buy of 500 for 990 and a fee of 10.
  const buyQuote = { sellAmount: '990', buyAmount: '500', feeAmount: '10' };
  test.each([
    ['sell', 'exact amount after the fee', '1000', '495', undefined],
    ['sell', 'less', '1000', '494', undefined],
    ['sell', 'one atom more', '1000', '496', { quotedBuyAmount: '495', surplus: '1' }],
    ['sell', 'amount before the fee', '1000', '500', { quotedBuyAmount: '495', surplus: '5' }],
    ['sell', PARTIAL, '3', '1', undefined],
    ['sell', 'partial fill at a better rate', '3', '2', { quotedBuyAmount: '1', surplus: '1' }],
    ['buy', 'exact quoted amount', '1000', '500', undefined],
    ['buy', 'less', '1000', '499', undefined],
    ['buy', 'more', '1000', '501', { quotedBuyAmount: '500', surplus: '1' }],
    ['buy', 'lower payment', '900', '500', { quotedBuyAmount: '450', surplus: '50' }],
  ] as const)('of a %s: %s', (kind, _name, sellAmount, buyAmount, expected) => {
    const quote = kind === 'sell' ? sellQuote : buyQuote;
    assert.deepEqual(computeImprovement(kind, quote, { sellAmount, buyAmount }), expected);
  });

  test('compares with 0 if the quoted fee exceeds the quoted sell amount', () => {
    const quote = { sellAmount: '10', buyAmount: '500', feeAmount: '11' };
    const trade = { sellAmount: '10', buyAmount: '1' };
    assert.deepEqual(computeImprovement('sell', quote, trade), { quotedBuyAmount: '0', surplus: '1' });
  });
});

describe('notification amount', () => {
  test.each([
    ['1500000', { decimals: 6, symbol: 'USDC' }, '1.5 USDC'],
    ['1', { decimals: 18, symbol: 'WETH' }, '0.000000000000000001 WETH'],
    ['7', { decimals: 0, symbol: 'NFT' }, '7 NFT'],
    ['7', { decimals: 18 }, `7 atoms of ${SELL}`],
    ['7', { symbol: 'X' }, `7 atoms of ${SELL}`],
    ['7', { decimals: 300, symbol: 'X' }, `7 atoms of ${SELL}`],
    ['7', { decimals: 255, symbol: 'X' }, `0.${'0'.repeat(254)}7 X`],
    ['7', { decimals: 256, symbol: 'X' }, `7 atoms of ${SELL}`],
    ['7', { decimals: -1, symbol: 'X' }, `7 atoms of ${SELL}`],
    ['7', { decimals: 0.5, symbol: 'X' }, `7 atoms of ${SELL}`],
    ['7', { decimals: 0, symbol: '' }, `7 atoms of ${SELL}`],
    ['7', { decimals: 0, symbol: ' \u202e\u0000' }, `7 atoms of ${SELL}`],
    ['7', { decimals: 0, symbol: 'A\u202e\u200bB' }, '7 A B'],
    ['7', { decimals: 0, symbol: `${'c'.repeat(19)} d` }, `7 ${'c'.repeat(19)}`],
    ['7', undefined, `7 atoms of ${SELL}`],
    ['7', { decimals: 0, symbol: `a${'\u202e'}b${'c'.repeat(50)}` }, `7 a b${'c'.repeat(17)}`],
  ])('%s of %o is %s', (atoms, token, text) => {
    assert.equal(formatAmount(atoms, SELL, token), text);
  });
});

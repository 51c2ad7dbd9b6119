import assert from 'node:assert/strict';
import type { Address, Hex, Order } from 'intentbook';
import type { AccountsOptions } from 'intentbook/accounts';
import { hashOf, placementOf, TRADER, tradeOf } from '../../support/chain-events.ts';
import type { OrderChoice } from '../../support/orders.ts';
import { COW, signCancellation, WETH } from '../../support/orders.ts';
import type { AccountFixture } from './accounts-fixture.ts';
import { ALICE, ALICES, turns } from './accounts-fixture.ts';

/** The sentences are written from the descriptions of the types in the contract, not from the code. */
export const NATIVE = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';
export const [weth, cow] = [WETH.toLowerCase(), COW.toLowerCase()] as [Address, Address];
export const OTHER: Address = `0x${'1f'.repeat(20)}`;
export const UNIT = 10n ** 18n;
export const units = (whole: number, decimals = 18) =>
  String(BigInt(Math.round(whole * 1000)) * 10n ** BigInt(decimals - 3));

/** The tokens of the host: COW has 18 decimals. It does not know native currency. */
export const tokens = (_chainId: number, token: Address) =>
  token === cow ? { decimals: 18, symbol: 'COW' } : undefined;

/** Sells 1 WETH for 2 COW. */
export const ONE_FOR_TWO: OrderChoice = { sellAmount: units(1), buyAmount: units(2) };

/** What happens to an order, and the sentences that its account reads. */
export interface MessageRow {
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

/** A token whose contract changes its name. */
const renamed = { decimals: 18, symbol: '' };

const SALE = 'Your order to exchange 1 WETH for 2 COW';

export const MESSAGE_ROWS: readonly MessageRow[] = [
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
    name: 'a part that lacks one atom, and that a reorganisation has reverted: it does not seem complete',
    options: { revertedNotifications: 'on' },
    async run(fixture) {
      const order = await fixture.order({ ...ONE_FOR_TWO, partiallyFillable: true });
      await fixture.applyBlock(1, []);
      await fixture.applyBlock(2, [tradeOf(order, UNIT - 1n, 2n * UNIT + 1n)]);
      await fixture.settled();
      await fixture.book.chain.rollback(1);
    },
    expected: [
      [
        'order_reverted',
        'A reorganisation of the chain reverted a fill of your order: ' +
          '0.999999999999999999 WETH for 2.000000000000000001 COW',
      ],
    ],
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
  {
    name: 'a purchase in parts that expires',
    async run(fixture) {
      const order = await fixture.order({ ...ONE_FOR_TWO, kind: 'buy', partiallyFillable: true });
      await fill(fixture, 1, order, 0.4, 1);
      await expire(fixture, order);
    },
    expected: [
      ['order_partially_filled', 'Your order was filled in part: 0.4 WETH for 1 COW'],
      ['order_expired', `${SALE} has expired. It was filled in part: 0.4 WETH for 1 COW`],
    ],
  },
  {
    name: 'a purchase that is complete with less than its limit',
    run: async (fixture) => fill(fixture, 1, await fixture.order({ ...ONE_FOR_TWO, kind: 'buy' }), 0.7, 2),
    expected: [['order_filled', 'Your order was filled: 0.7 WETH for 2 COW']],
  },
  {
    name: 'a settlement that was sent before the cancellation',
    async run(fixture) {
      const order = await fixture.order(ONE_FOR_TWO);
      await cancel(fixture, order);
      await fill(fixture, 1, order, 1, 2);
    },
    expected: [
      ['order_cancelled', `${SALE} was cancelled`],
      ['order_filled', 'Your order was filled: 1 WETH for 2 COW'],
    ],
  },
  {
    name: 'a fill in a block that is read after the expiry',
    async run(fixture) {
      const { clock, applyBlock, order } = fixture;
      const timestamp = Math.floor(clock.now() / 1000) + 5;
      const late = await order(ONE_FOR_TWO);
      await expire(fixture, late);
      await fixture.settled();
      await applyBlock(1, [{ ...tradeOf(late, UNIT, 2n * UNIT), timestamp }]);
    },
    expected: [['order_filled', 'Your order was filled: 1 WETH for 2 COW']],
  },
  {
    name: 'a cancellation on the chain that is reverted, before the order expires',
    options: { revertedNotifications: 'on' },
    async run(fixture) {
      const order = await fixture.order(ONE_FOR_TWO);
      await fixture.applyBlock(1, []);
      await fixture.applyBlock(2, [{ event: 'OrderInvalidated', owner: order.owner, orderUid: order.uid }]);
      await fixture.settled();
      await fixture.book.chain.rollback(1);
      await expire(fixture, order);
    },
    expected: [
      [
        'order_reverted',
        'A reorganisation of the chain reverted the cancellation of your order to exchange 1 WETH for 2 COW',
      ],
      ['order_expired', `${SALE} has expired`],
    ],
  },
  {
    name: 'a cancellation by signature that a reorganisation of the one on the chain does not revert',
    options: { revertedNotifications: 'on' },
    async run(fixture) {
      const order = await fixture.order(ONE_FOR_TWO);
      await cancel(fixture, order);
      await fixture.applyBlock(1, []);
      await fixture.applyBlock(2, [{ event: 'OrderInvalidated', owner: order.owner, orderUid: order.uid }]);
      await fixture.settled();
      await fixture.book.chain.rollback(1);
    },
    expected: [['order_cancelled', `${SALE} was cancelled`]],
  },
  {
    name: 'a completing fill that is the only one after a reorganisation',
    async run(fixture) {
      const order = await fixture.order({ ...ONE_FOR_TWO, partiallyFillable: true });
      await fixture.applyBlock(1, []);
      await fill(fixture, 2, order, 0.6, 1.2, hashOf('first'));
      await fill(fixture, 3, order, 0.4, 0.8, hashOf('second'));
      await fixture.settled();
      await fixture.book.chain.rollback(1);
      const second = tradeOf(order, BigInt(units(0.4)), BigInt(units(0.8)), hashOf('second'));
      await fixture.applyBlock(2, [second], 'b');
    },
    expected: [['order_partially_filled', 'Your order was filled in part: 0.4 WETH for 0.8 COW']],
  },
  {
    name: 'an order that was never signed on the chain',
    async run(fixture) {
      const presign = { signingScheme: 'presign', signature: '0x' };
      const order = await fixture.order(ONE_FOR_TWO, presign);
      await fixture.applyBlock(1, [{ event: 'OrderInvalidated', owner: order.owner, orderUid: order.uid }]);
    },
    expected: [],
  },
  {
    name: 'tokens without decimals, and with most of them',
    options: {
      tokens: (_, token) => (token === cow ? { decimals: 0, symbol: 'NFT' } : { decimals: 77, symbol: 'TINY' }),
    },
    run: async (fixture) =>
      fixture.applyBlock(1, [
        tradeOf(await fixture.order({ sellToken: OTHER, sellAmount: '15', buyAmount: '2' }), 15n, 3n),
      ]),
    expected: [['order_filled', `Your order was filled: 0.${'0'.repeat(75)}15 TINY for 3 NFT`]],
  },
  {
    name: 'a token that is renamed between two fills',
    options: { tokens: (_, token) => (token === cow ? { ...renamed } : undefined) },
    async run(fixture) {
      renamed.symbol = 'MATIC';
      const order = await fixture.order({ ...ONE_FOR_TWO, partiallyFillable: true });
      await fill(fixture, 1, order, 0.5, 1);
      await fixture.settled();
      renamed.symbol = 'POL';
      await fill(fixture, 2, order, 0.5, 1);
    },
    expected: [
      ['order_partially_filled', 'Your order was filled in part: 0.5 WETH for 1 MATIC'],
      ['order_filled', 'Your order was filled: 1 WETH for 2 POL'],
    ],
  },
];

import assert from 'node:assert/strict';
import type { Hex } from 'viem';
import { concatHex, encodePacked, hashTypedData, numberToHex } from 'viem';
import { ORDER_TYPES, SEPOLIA_DOMAIN, signOrder } from '../support/orders.ts';
import { recordWinner } from './support/competition.ts';
import type { Scenario } from './support/scenario.ts';
import { encodeSettlement } from './support/settlement.ts';

const EMPTY = '0xb48d38f93eaa084033fc5970bf96e559c33c4cdc07d889ab00b4d63f9590739d';

/**
 * Assertions of the original:
 * - the class of the order of the user is `limit`: held
 * - the trader receives exactly what the solution pays: held
 * - the order of the solver is at its UID, in the trades, in the transaction and at its owner: held
 * - an offset of one is an empty list: held
 */
export const scenario: Scenario = {
  shows: 'an order that a solver creates in its settlement is served on every route',
  async run(world) {
    const book = await world.serve();
    const [trader, maker] = [await world.createTrader({ WETH: '1' }), await world.createTrader({ USDC: '3000' })];
    const [WETH, USDC] = [world.token('WETH'), world.token('USDC')];
    const sellAmount = 10n ** 18n;
    const bought = 2500n * 10n ** 18n;
    const uid = await book.place(trader, {
      sellToken: WETH,
      buyToken: USDC,
      sellAmount: String(sellAmount),
      buyAmount: String(2400n * 10n ** 18n),
    });
    await book.untilListed(uid);
    const validTo = Math.floor(Date.now() / 1000) + 600;
    const terms = {
      sellToken: USDC,
      buyToken: WETH,
      sellAmount: String(bought),
      buyAmount: String(sellAmount),
      validTo,
    };
    const signed = await signOrder(maker, terms);
    const order = {
      ...signed,
      sellToken: USDC,
      buyToken: WETH,
      owner: maker.address,
      receiver: maker.address,
      appData: EMPTY as Hex,
      interactions: { pre: [], post: [] },
    };
    const trades = [
      ...(await world.trades(book, [{ uid, sold: sellAmount, bought }])),
      { order, sold: bought, bought: sellAmount },
    ];
    const digest = hashTypedData({
      domain: {
        name: 'Gnosis Protocol',
        version: 'v2',
        chainId: SEPOLIA_DOMAIN.chainId,
        verifyingContract: SEPOLIA_DOMAIN.settlementContract,
      },
      types: ORDER_TYPES,
      primaryType: 'Order',
      message: { ...order, sellAmount: bought, buyAmount: sellAmount, feeAmount: 0n } as never,
    });
    const jit = concatHex([
      digest,
      encodePacked(['address'], [maker.address]),
      numberToHex(validTo, { size: 4 }),
    ]).toLowerCase();
    const deadline = Number(await world.client.getBlockNumber()) + 100;
    const created = {
      id: jit,
      sellAmount: terms.sellAmount,
      buyAmount: terms.buyAmount,
      sellToken: USDC,
      buyToken: WETH,
    };
    const auctionId = await recordWinner(book, uid, world.solver, deadline, [created]);
    const data = encodeSettlement(trades, { auctionId });
    const txHash = await world.send(world.solver, world.contracts.settlement, data);
    await book.untilStatus(uid, 'fulfilled');
    assert.equal((await book.get(`/orders/${uid}`)).body.class, 'limit');
    assert.equal(await world.balance(trader.address, 'USDC'), bought);

    const stored = await book.until(`/orders/${jit}`, (_, { status }) => status === 200);
    assert.deepEqual(
      [stored.owner, stored.status, stored.class],
      [maker.address.toLowerCase(), 'fulfilled', 'liquidity'],
    );
    const [trade] = (await book.get(`/trades?orderUid=${jit}`)).body;
    assert.equal(trade.txHash, txHash);
    const inTransaction = (await book.get(`/transactions/${txHash}/orders`)).body;
    assert.deepEqual(inTransaction.map((each: { uid: string }) => each.uid).sort(), [uid, jit].sort());
    const ofMaker = (await book.get(`/account/${maker.address}/orders`)).body;
    assert.deepEqual(
      ofMaker.map((each: { uid: string }) => each.uid),
      [jit],
    );
    assert.deepEqual((await book.get(`/account/${maker.address}/orders?offset=1`)).body, []);
  },
};

import assert from 'node:assert/strict';
import { recordWinner } from './support/competition.ts';
import type { Scenario } from './support/scenario.ts';

/**
 * Assertions of the original:
 * - a partially fillable order is filled as far as the pool allows: held, by its limit price
 * - the competition has the order and its solution: held
 * - the newest competition is that of the transaction: held
 * - the status of the order is `traded` until the next auction, with the solver and the executed amounts: held
 */
export const scenario: Scenario = {
  shows: 'an order is filled in part as far as its limit price allows, and its competition is found by transaction',
  async run(world) {
    const book = await world.serve('--drivers', await world.startDriver());
    const trader = await world.createTrader({ WETH: '4000' });
    // The pool of 10,000 WETH pays at least 2000 USDC for one WETH until it has about 1,100 more.
    const sellAmount = 4000n * 10n ** 18n;
    const uid = await book.place(trader, {
      sellToken: world.token('WETH'),
      buyToken: world.token('USDC'),
      sellAmount: String(sellAmount),
      buyAmount: world.atoms('8000000', 'USDC'),
      partiallyFillable: true,
    });
    const order = await book.until(`/orders/${uid}`, ({ executedSellAmount }) => executedSellAmount !== '0');
    const [sold, bought] = [BigInt(order.executedSellAmount), BigInt(order.executedBuyAmount)];
    assert.ok(sold > 0n && sold < sellAmount);
    assert.ok(bought * sellAmount >= sold * BigInt(order.buyAmount));
    assert.equal(order.status, 'open');
    const [trade] = (await book.get(`/trades?orderUid=${uid}`)).body;
    const byHash = await book.send('GET', `/api/v2/solver_competition/by_tx_hash/${trade.txHash}`);
    assert.equal(byHash.status, 200);
    assert.ok(byHash.body.auction.orders.includes(uid));
    assert.deepEqual((await book.send('GET', '/api/v2/solver_competition/latest')).body, byHash.body);
    const [winner] = byHash.body.solutions;
    assert.deepEqual([winner.solverAddress, winner.orders.map(({ id }: { id: string }) => id)], [world.solver, [uid]]);
    assert.deepEqual([winner.orders[0].sellAmount, winner.orders[0].buyAmount], [String(sold), String(bought)]);
    assert.equal((await book.send('GET', `/api/v2/solver_competition/${byHash.body.auctionId}`)).status, 200);
    assert.equal((await book.cancel(trader, uid)).status, 200);
    const { executedSellAmount, status } = await book.order(uid);
    assert.deepEqual([executedSellAmount, status], [String(sold), 'cancelled']);

    // Without drivers, this server runs no auction.
    const quiet = await world.serve();
    const half = 10n ** 18n;
    const parts = await quiet.place(trader, {
      sellToken: world.token('WETH'),
      buyToken: world.token('USDC'),
      sellAmount: String(2n * half),
      buyAmount: '2000',
      partiallyFillable: true,
    });
    await quiet.untilListed(parts);
    const deadline = Number(await world.client.getBlockNumber()) + 100;
    const executed = { sellAmount: String(half), buyAmount: '1200' };
    const auctionId = await recordWinner(quiet, parts, world.solver, deadline, [], executed);
    await world.settle(quiet, [{ uid: parts, sold: half, bought: 1200n }], { auctionId });
    const traded = await quiet.until(`/orders/${parts}/status`, ({ type }) => type === 'traded');
    const executedAmounts = { sell: String(half), buy: '1200' };
    assert.deepEqual(traded.value, [{ solver: world.solver, executedAmounts }]);
    assert.equal((await quiet.order(parts)).status, 'open');
    await quiet.get('/auction');
    assert.equal((await quiet.get(`/orders/${parts}/status`)).body.type, 'active');
  },
};

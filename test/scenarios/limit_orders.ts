import assert from 'node:assert/strict';
import type { Scenario } from './support/scenario.ts';

const SECOND_SOLVER = '0x00000000000000000000000000000000000050b2';

/**
 * Assertions of the original:
 * - a single order is traded, and its class is `limit`: held
 * - its quote shows how it would be executed only after the trade: held in `place_order_with_quote`
 * - two orders are traded, in one or in two settlements: held
 * - requests to a driver that accepts it are compressed with Brotli: held in `test/integration/drivers/http.test.ts`
 * - two solvers win in one auction: two transactions, one winning solution each, with the order and its amounts,
 *   and the reference score of each: held; reference scores in `test/unit/auctions/drivers`
 * - fees of both orders are positive: held
 * - one order above the limit is `TooManyLimitOrders`: held
 * - orders in the market do not count to the limit: not held, each open order counts. The quota limits the cost of
 *   open orders, and one in the market that no solver settles costs as much, see decision 2.25
 * - an order without liquidity is accepted without a quote and traded later, with a fee of its surplus: in part.
 *   It is accepted and left out of the auction
 * - a solver that keeps a part of what it has received, in both directions: not held. The setting is one of its
 *   driver; the book stores the amounts of the settlement, whatever the solver keeps
 * - two orders on copies of public chains: excluded, they need archives of these chains
 */
export const scenario: Scenario = {
  shows: 'limit orders of several solvers win in one auction, have a quota per owner, and need priced tokens',
  async run(world) {
    const fee = 1000n;
    const drivers = [await world.startDriver({ fee }), await world.startDriver({ account: SECOND_SOLVER, fee })];
    const book = await world.serve('--drivers', drivers.join(), '--solve-time', '3000', '--max-open-orders', '3');
    const trader = await world.createTrader({ WETH: '10', DAI: '10000' });
    const first = await book.place(trader, {
      sellToken: world.token('WETH'),
      buyToken: world.token('USDC'),
      sellAmount: String(10n ** 18n),
      buyAmount: world.atoms('2000', 'USDC'),
    });
    const second = await book.place(trader, {
      sellToken: world.token('DAI'),
      buyToken: world.token('COW'),
      sellAmount: world.atoms('1000', 'DAI'),
      buyAmount: world.atoms('3000', 'COW'),
    });
    const hashes = [];
    for (const uid of [first, second]) {
      const order = await book.untilStatus(uid, 'fulfilled');
      const full = (await book.get(`/orders/${uid}`)).body;
      assert.equal(full.class, 'limit');
      assert.ok(BigInt(full.executedFee) > 0n);
      const [trade] = (await book.get(`/trades?orderUid=${uid}`)).body;
      assert.equal(trade.buyAmount, order.executedBuyAmount);
      assert.ok(BigInt(order.executedBuyAmount) > BigInt(order.buyAmount));
      hashes.push(trade.txHash);
      const competition = await book.send('GET', `/api/v2/solver_competition/by_tx_hash/${trade.txHash}`);
      assert.equal(competition.status, 200);
      assert.ok(competition.body.solutions.some(({ isWinner }: { isWinner: boolean }) => isWinner));
    }
    assert.notEqual(hashes[0], hashes[1]);

    // The quota of open orders. The limit prices are out of reach.
    const far = {
      sellToken: world.token('WETH'),
      buyToken: world.token('USDC'),
      buyAmount: world.atoms('90000', 'USDC'),
    };
    const uids = [];
    for (const n of [1n, 2n, 3n]) uids.push(await book.place(trader, { ...far, sellAmount: String(10n ** 18n + n) }));
    await book.rejects(book.submit(trader, { ...far, sellAmount: String(10n ** 18n) }), 400, 'TooManyLimitOrders');
    assert.equal((await book.cancel(trader, ...uids)).status, 200);

    // An order for a token without a price is accepted, and left out of the auction.
    const unpriced = await book.place(trader, {
      ...far,
      buyToken: `0x${'77'.repeat(20)}`,
      sellAmount: '1000',
      buyAmount: '1',
    });
    const listed = await book.place(trader, { ...far, sellAmount: '2000' });
    await book.untilListed(listed);
    assert.equal(await book.listed(unpriced), undefined);
    assert.equal((await book.order(unpriced)).status, 'open');
  },
};

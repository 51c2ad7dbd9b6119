import assert from 'node:assert/strict';
import type { Hex } from 'viem';
import type { Scenario } from './support/scenario.ts';

/**
 * Assertions of the original:
 * - trades of an order and of an owner: held
 * - pages by limit and offset: held
 */
export const scenario: Scenario = {
  shows: 'trades are filtered by order or owner and read page by page',
  async run(world) {
    const book = await world.serve();
    const [trader, other] = [await world.createTrader({ WETH: '1' }), await world.createTrader({ WETH: '1' })];
    const uids: Hex[] = [];
    for (const sellAmount of ['1000', '2000', '3000']) {
      const terms = { sellToken: world.token('WETH'), buyToken: world.token('USDC'), sellAmount, buyAmount: '10' };
      uids.push(await book.place(trader, terms));
    }
    const terms = {
      sellToken: world.token('WETH'),
      buyToken: world.token('USDC'),
      sellAmount: '4000',
      buyAmount: '10',
    };
    const foreign = await book.place(other, terms);
    for (const uid of [foreign, ...uids]) await world.settle(book, [{ uid }]);
    await book.untilStatus(foreign, 'fulfilled');
    for (const uid of uids) await book.untilStatus(uid, 'fulfilled');
    const list = (query: string) => book.send('GET', `/api/v2/trades?${query}`);
    const uidsOf = async (query: string) => (await list(query)).body.map((trade: { orderUid: Hex }) => trade.orderUid);

    const all = await uidsOf(`owner=${trader.address}`);
    assert.deepEqual([...all].sort(), [...uids].sort());
    assert.deepEqual(await uidsOf(`owner=${other.address}`), [foreign]);
    assert.deepEqual(await uidsOf(`orderUid=${uids[1]}`), [uids[1]]);
    assert.deepEqual(await uidsOf(`owner=${trader.address}&limit=2`), all.slice(0, 2));
    assert.deepEqual(await uidsOf(`owner=${trader.address}&limit=2&offset=2`), all.slice(2));
    assert.deepEqual(await uidsOf(`owner=${trader.address}&offset=3`), []);
    assert.deepEqual(await uidsOf(`owner=0x${'34'.repeat(20)}`), []);
    await book.rejects(list(`owner=${trader.address}&limit=0`), 400, 'InvalidLimit');
    await book.rejects(list(`owner=${trader.address}&limit=1001`), 400, 'InvalidLimit');
    await book.rejects(list(''), 400, 'InvalidTradeFilter');
    await book.rejects(list(`owner=${trader.address}&orderUid=${uids[0]}`), 400, 'InvalidTradeFilter');
  },
};

import assert from 'node:assert/strict';
import type { Scenario } from './support/scenario.ts';

/**
 * Assertions of the original:
 * - after a trade, a token has the block of its first trade and a native price: held
 * - before, the block is null: held
 */
export const scenario: Scenario = {
  shows: 'the metadata of a token has its first trade and its price',
  isFast: true,
  async run(world) {
    const book = await world.serve();
    const trader = await world.createTrader({ WETH: '1' });
    const path = `/token/${world.token('USDC')}/metadata`;
    const before = (await book.get(path)).body;
    assert.equal(before.firstTradeBlock, null);
    const terms = { sellToken: world.token('WETH'), buyToken: world.token('USDC'), sellAmount: '1000', buyAmount: '1' };
    const uid = await book.place(trader, terms);
    await world.settle(book, [{ uid }]);
    const block = Number(await world.client.getBlockNumber());
    await book.untilStatus(uid, 'fulfilled');
    const after = (await book.get(path)).body;
    assert.equal(after.firstTradeBlock, block);
    assert.ok(Number(after.nativePrice) > 0, JSON.stringify(after));
  },
};

import assert from 'node:assert/strict';
import { recordWinner } from './support/competition.ts';
import type { Scenario } from './support/scenario.ts';

const documentOf = (uid: string) => JSON.stringify({ appCode: 'x', metadata: { replacedOrder: { uid } } });

/**
 * Assertions of the original:
 * - an order that solvers bid on cannot be replaced, `OldOrderActivelyBidOn`: held
 * - a traded one cannot either, `OrderFullyExecuted`: held
 * - the order of another account is 401: held
 * - a replacement is stored with its document, the old order is cancelled, and the new one is traded: held
 */
export const scenario: Scenario = {
  shows: 'an order replaces an open one of its owner, and neither one that solvers bid on nor a filled one',
  async run(world) {
    const book = await world.serve();
    const [trader, other] = [await world.createTrader({ WETH: '10' }), await world.createTrader({ WETH: '10' })];
    const terms = { sellToken: world.token('WETH'), buyToken: world.token('USDC'), buyAmount: '10' };
    const place = (sellAmount: string) => book.place(trader, { ...terms, sellAmount });
    const replace = (uid: string, sellAmount: string, signer = trader) =>
      book.submit(signer, { ...terms, sellAmount, appData: documentOf(uid) });

    const old = await place('1000');
    const foreign = await replace(old, '2000', other);
    assert.equal(foreign.status, 401, JSON.stringify(foreign.body));
    const replaced = await replace(old, '2000');
    assert.equal(replaced.status, 201, JSON.stringify(replaced.body));
    assert.equal((await book.get(`/orders/${replaced.body}`)).body.fullAppData, documentOf(old));
    assert.deepEqual([(await book.order(old)).status, (await book.order(replaced.body)).status], ['cancelled', 'open']);

    await book.untilListed(replaced.body);
    await world.settle(book, [{ uid: replaced.body }]);
    await book.untilStatus(replaced.body, 'fulfilled');

    const bidOn = await place('3000');
    await book.untilListed(bidOn);
    await recordWinner(book, bidOn, world.solver, Number(await world.client.getBlockNumber()) + 100);
    await book.rejects(replace(bidOn, '3001'), 400, 'OldOrderActivelyBidOn');

    const filled = await place('4000');
    await world.settle(book, [{ uid: filled }]);
    await book.untilStatus(filled, 'fulfilled');
    await book.rejects(replace(filled, '4001'), 400, 'OrderFullyExecuted');
  },
};

import assert from 'node:assert/strict';
import { signOrder } from '../support/orders.ts';
import type { Scenario } from './support/scenario.ts';

/**
 * Assertions of the original:
 * - without funds and without an approval the order is rejected: held
 * - with a sufficient approval it is accepted, and traded once it has funds: held
 * - with the full check, the balance is `InsufficientBalance`, then the allowance `InsufficientAllowance`: held
 * - with both it is accepted: held
 */
export const scenario: Scenario = {
  shows: 'an order needs one atom or a sufficient approval, and all of it with the full balance check',
  isFast: true,
  async run(world) {
    const book = await world.serve();
    const terms = {
      sellToken: world.token('WETH'),
      buyToken: world.token('USDC'),
      sellAmount: String(2n * 10n ** 18n),
      buyAmount: '1',
    };
    const poor = await world.createTrader();
    await world.approve(poor.address, 'WETH', 0n);
    const refused = await book.submit(poor, terms);
    assert.deepEqual([refused.status, refused.body.errorType], [400, 'InsufficientBalance']);

    // An approval of the full amount, without a balance.
    await world.approve(poor.address, 'WETH', 2n * 10n ** 18n);
    const uid = await book.place(poor, terms);
    assert.equal(await book.listed(uid), undefined);
    await world.fund(poor.address, { WETH: '2' });
    await book.untilListed(uid);
    await world.settle(book, [{ uid }]);
    await book.untilStatus(uid, 'fulfilled');

    // One of two units.
    const half = await world.createTrader({ WETH: '1' });
    await book.place(half, terms);
    const validTo = Math.floor(Date.now() / 1000) + 3000;
    const strict = { ...(await signOrder(half, { ...terms, validTo })), fullBalanceCheck: true };
    await book.rejects(book.post('/orders', strict), 400, 'InsufficientBalance');
    await world.fund(half.address, { WETH: '1' });
    await world.approve(half.address, 'WETH', 1n);
    await book.rejects(book.post('/orders', strict), 400, 'InsufficientAllowance');
    await world.approve(half.address, 'WETH', 2n * 10n ** 18n);
    assert.equal((await book.post('/orders', strict)).status, 201);
  },
};

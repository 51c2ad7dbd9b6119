import assert from 'node:assert/strict';
import { SEPOLIA_DOMAIN, signOrder } from '../support/orders.ts';
import type { Scenario } from './support/scenario.ts';

/**
 * Assertions of the original:
 * - an order that is not stored: 200 with an error that contains "reverted" without funds, and no error with
 *   funds: held
 * - a stored order at a block without funds: an error that contains "reverted": held
 * - the same at a block with funds, and at the newest block: no error: held
 * - the request for Tenderly has the settlement contract, the type `full` and no value: held
 * - an order that is filled in part needs the funds of the rest only: held in
 *   `test/integration/sandbox/order-simulation.test.ts`
 */
export const scenario: Scenario = {
  shows: 'operators simulate stored and custom orders, at the newest block and at an older one',
  async run(world) {
    const book = await world.serve();
    const trader = await world.createTrader({ WETH: '1' });
    const terms = {
      sellToken: world.token('WETH'),
      buyToken: world.token('USDC'),
      sellAmount: String(10n ** 18n),
      buyAmount: '1000',
    };
    const uid = await book.place(trader, terms);
    const path = `/debug/simulation/${uid}`;
    const errorOf = async (query = '') => {
      const { status, body } = await book.operator('GET', `${path}${query}`);
      assert.equal(status, 200, JSON.stringify(body));
      assert.equal(body.tenderly_request.simulation_type, 'full');
      assert.equal(body.tenderly_request.to, SEPOLIA_DOMAIN.settlementContract);
      assert.equal(body.tenderly_request.value, undefined);
      return body.error;
    };
    assert.equal((await book.send('GET', `/restricted/api/v1${path}`)).status, 403);
    assert.equal((await book.operator('GET', `/debug/simulation/0x${'00'.repeat(56)}`)).status, 404);
    assert.equal((await book.operator('GET', '/debug/simulation/0x12')).status, 400);
    assert.equal(await errorOf(), null);

    // Without the allowance it reverts, and at the block before it does not.
    const block = Number(await world.client.getBlockNumber());
    await world.approve(trader.address, 'WETH', 0n);
    assert.match(await errorOf(), /reverted/);
    assert.equal(await errorOf(`?block_number=${block}`), null);

    // At a block at which its owner has spent the balance.
    const weth = world.token('WETH');
    await world.approve(trader.address, 'WETH');
    const transfer =
      `0xa9059cbb${'99'.repeat(20).padStart(64, '0')}${(10n ** 18n).toString(16).padStart(64, '0')}` as const;
    await world.send(trader.address, weth, transfer);
    const poor = Number(await world.client.getBlockNumber());
    await world.mine(); // ends that block, so that the node keeps its state
    await world.fund(trader.address, { WETH: '1' });
    assert.match(await errorOf(`?block_number=${poor}`), /reverted/);
    const funded = Number(await world.client.getBlockNumber());
    assert.deepEqual([await errorOf(`?block_number=${funded}`), await errorOf()], [null, null]);
    await world.approve(trader.address, 'WETH', 0n);

    // An order that is not stored.
    const validTo = Math.floor(Date.now() / 1000) + 3600;
    const custom = await signOrder(trader, { ...terms, sellAmount: '5000', validTo });
    const simulate = (changes: object = {}) => book.operator('POST', '/debug/simulation', { ...custom, ...changes });
    assert.match((await simulate()).body.error, /reverted/);
    await world.approve(trader.address, 'WETH');
    const { status, body } = await simulate();
    assert.deepEqual([status, body.error], [200, null], JSON.stringify(body));
    assert.ok((await simulate({ sellAmount: 'many' })).status >= 400);
    assert.equal((await book.get(`/account/${trader.address}/orders`)).body.length, 1);
  },
};

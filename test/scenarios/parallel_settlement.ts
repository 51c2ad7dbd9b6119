import assert from 'node:assert/strict';
import type { Hex } from 'viem';
import { encodeFunctionData } from 'viem';
import { contract } from './support/contracts.ts';
import type { Scenario } from './support/scenario.ts';
import { encodeSettlement } from './support/settlement.ts';

/**
 * Assertions of the original:
 * - two settlements of one solver are pending at once, one through a delegated account: excluded, a matter of the
 *   driver
 * - both orders are traded: held, in one block, with one settlement as an inner call
 */
export const scenario: Scenario = {
  shows: 'two settlements of one block, one of them an inner call, are attributed to their orders',
  async run(world) {
    const book = await world.serve();
    const relay = await world.deploy(contract('Relay'));
    await world.allowSolver(relay);
    const [USDC, WETH] = [world.token('USDC'), world.token('WETH')];
    const uids: Hex[] = [];
    for (const amount of ['1000000', '2000000']) {
      const trader = await world.createTrader({ WETH: '1' });
      uids.push(await book.place(trader, { sellToken: WETH, buyToken: USDC, sellAmount: amount, buyAmount: '10' }));
    }
    const [first, second] = uids as [Hex, Hex]; // two orders
    const dataOf = async (uid: Hex) => encodeSettlement(await world.trades(book, [{ uid }]));
    const inner = encodeFunctionData({
      abi: contract('Relay').abi,
      functionName: 'relay',
      args: [world.contracts.settlement, await dataOf(second)],
    });
    await world.fund(world.contracts.settlement, { USDC: '1' });
    await world.client.setAutomine(false);
    const gas = 5_000_000n;
    const send = (to: Hex, data: Hex) =>
      world.client.sendTransaction({ account: world.solver, to, data, gas, chain: null });
    const hashes = [await send(world.contracts.settlement, await dataOf(first)), await send(relay, inner)];
    await world.client.mine({ blocks: 1 });
    await world.client.setAutomine(true);
    const blocks = new Set();
    for (const [i, uid] of uids.entries()) {
      const order = await book.untilStatus(uid, 'fulfilled');
      const [trade] = (await book.get(`/trades?orderUid=${uid}`)).body;
      assert.deepEqual([trade.txHash, order.executedBuyAmount], [hashes[i], '10']);
      blocks.add(trade.blockNumber);
      assert.equal((await book.get(`/transactions/${hashes[i]}/orders`)).body[0].uid, uid);
    }
    assert.equal(blocks.size, 1);
  },
};

import assert from 'node:assert/strict';
import { encodeFunctionData } from 'viem';
import { recordWinner } from './support/competition.ts';
import { contract } from './support/contracts.ts';
import type { Scenario } from './support/scenario.ts';
import { encodeSettlement } from './support/settlement.ts';

/**
 * Assertions of the original:
 * - the order is stored with its document: held
 * - the transaction calls two wrappers with their data: in part. The scenario has one wrapper, without its data
 * - the order is traded, and the competition is found by the transaction: held
 */
export const scenario: Scenario = {
  shows: 'an order that names a wrapper is settled through it, and the trade is attributed',
  async run(world) {
    const book = await world.serve();
    const wrapper = await world.deploy(contract('Relay'));
    await world.allowSolver(wrapper);
    const trader = await world.createTrader();
    const appData = JSON.stringify({ appCode: 'x', metadata: { wrappers: [{ address: wrapper, data: '0x1234' }] } });
    // The wrapper provides the funds, so the owner has none when the order is placed.
    const uid = await book.place(trader, {
      sellToken: world.token('WETH'),
      buyToken: world.token('USDC'),
      sellAmount: String(10n ** 18n),
      buyAmount: world.atoms('2000', 'USDC'),
      appData,
    });
    await world.fund(trader.address, { WETH: '1' });
    await book.untilListed(uid);
    const deadline = Number(await world.client.getBlockNumber()) + 100;
    const auctionId = await recordWinner(book, uid, wrapper, deadline);
    await world.fund(world.contracts.settlement, { USDC: '2500' });
    const bought = 2400n * 10n ** 18n;
    const data = encodeSettlement(await world.trades(book, [{ uid, sold: 10n ** 18n, bought }]), { auctionId });
    const args = [world.contracts.settlement, data];
    const call = encodeFunctionData({ abi: contract('Relay').abi, functionName: 'relay', args });
    const txHash = await world.send(trader.address, wrapper, call);
    const order = await book.untilStatus(uid, 'fulfilled');
    assert.equal(order.executedBuyAmount, String(bought));
    const [trade] = (await book.get(`/trades?orderUid=${uid}`)).body;
    assert.equal(trade.txHash, txHash);
    const competition = await book.send('GET', `/api/v2/solver_competition/by_tx_hash/${txHash}`);
    assert.equal(competition.body.auctionId, auctionId);
    const surplus = await book.get(`/users/${trader.address}/total_surplus`);
    assert.ok(BigInt(surplus.body.totalSurplus) > 0n);
  },
};

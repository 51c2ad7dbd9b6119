import assert from 'node:assert/strict';
import type { Hex } from 'viem';
import { encodeFunctionData } from 'viem';
import { recordWinner } from './support/competition.ts';
import { contract } from './support/contracts.ts';
import type { Scenario } from './support/scenario.ts';
import { encodeSettlement } from './support/settlement.ts';

/**
 * Assertions of the original:
 * - the order is stored with its document: held
 * - the transaction calls two wrappers with their data: held
 * - the order is traded, and the competition is found by the transaction: held
 */
export const scenario: Scenario = {
  shows: 'an order that names two wrappers is settled through them, and the trade is attributed',
  async run(world) {
    const book = await world.serve();
    const { abi } = contract('Wrapper');
    const outer = await world.deploy(contract('Wrapper'));
    const inner = await world.deploy(contract('Wrapper'));
    await world.allowSolver(inner);
    const trader = await world.createTrader();
    const wrappers = [
      { address: outer, data: '0xbeef' },
      { address: inner, data: '0xfeed' },
    ] as const;
    const appData = JSON.stringify({ appCode: 'x', metadata: { wrappers } });
    // The wrappers provide the funds, so the owner has none when the order is placed.
    const uid = await book.place(trader, {
      sellToken: world.token('WETH'),
      buyToken: world.token('USDC'),
      sellAmount: String(10n ** 18n),
      buyAmount: world.atoms('2000', 'USDC'),
      appData,
    });
    assert.equal((await book.get(`/orders/${uid}`)).body.fullAppData, appData);
    await world.fund(trader.address, { WETH: '1' });
    await book.untilListed(uid);
    const deadline = Number(await world.client.getBlockNumber()) + 100;
    const auctionId = await recordWinner(book, uid, inner, deadline);
    await world.fund(world.contracts.settlement, { USDC: '2500' });
    const bought = 2400n * 10n ** 18n;
    const data = encodeSettlement(await world.trades(book, [{ uid, sold: 10n ** 18n, bought }]), { auctionId });
    const wrap = (target: Hex, call: Hex, { data: own }: (typeof wrappers)[number]) =>
      encodeFunctionData({ abi, functionName: 'wrap', args: [target, call, own] });
    const wrapped = wrap(inner, wrap(world.contracts.settlement, data, wrappers[1]), wrappers[0]);
    const txHash = await world.send(trader.address, outer, wrapped);
    for (const { address, data: own } of wrappers) {
      assert.equal(await world.client.readContract({ address, abi, functionName: 'last' }), own);
    }
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

import assert from 'node:assert/strict';
import type { Scenario } from './support/scenario.ts';

/**
 * Assertions of the original:
 * - the surplus is 0 without trades: held
 * - it is positive after a trade, and grows with others: held
 */
export const scenario: Scenario = {
  shows: 'the total surplus of an account is zero and grows with its trades',
  async run(world) {
    const book = await world.serve('--drivers', await world.startDriver());
    const trader = await world.createTrader({ WETH: '10' });
    const path = `/users/${trader.address}/total_surplus`;
    assert.deepEqual((await book.get(path)).body, { totalSurplus: '0' });
    let before = 0n;
    for (const sellAmount of [10n ** 18n, 2n * 10n ** 18n]) {
      const terms = { sellToken: world.token('WETH'), buyToken: world.token('USDC'), sellAmount: String(sellAmount) };
      const uid = await book.place(trader, { ...terms, buyAmount: world.atoms('2000', 'USDC') });
      await book.untilStatus(uid, 'fulfilled');
      const grown = ({ totalSurplus }: { totalSurplus: string }) => BigInt(totalSurplus) > before;
      before = BigInt((await book.until(path, grown)).totalSurplus);
    }
  },
};

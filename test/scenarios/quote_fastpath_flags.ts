import assert from 'node:assert/strict';
import type { Scenario } from './support/scenario.ts';

/**
 * Assertions of the original:
 * - `enableFastPath` is rejected with 400 and its name, in quotes and in orders: held
 */
export const scenario: Scenario = {
  shows: 'the flag of the fast path is refused in quotes and orders',
  isFast: true,
  async run(world) {
    const book = await world.serve();
    const trader = await world.createTrader({ WETH: '10' });
    const [sellToken, buyToken] = [world.token('WETH'), world.token('USDC')];
    const documentOf = (enableFastPath: boolean) => JSON.stringify({ appCode: 'fast', metadata: { enableFastPath } });
    const quote = { sellToken, buyToken, from: trader.address, kind: 'sell', sellAmountBeforeFee: String(10n ** 18n) };
    const terms = { sellToken, buyToken, sellAmount: '1000', buyAmount: '1' };
    for (const refused of [
      await book.post('/quote', { ...quote, appData: documentOf(true) }),
      await book.submit(trader, { ...terms, appData: documentOf(true) }),
    ]) {
      assert.equal(refused.status, 400);
      assert.match(refused.body.description, /enableFastPath/);
    }
    assert.equal((await book.post('/quote', { ...quote, appData: documentOf(false) })).status, 200);
    await book.place(trader, { ...terms, appData: documentOf(false) });
  },
};

import assert from 'node:assert/strict';
import type { Scenario } from './support/scenario.ts';

/**
 * Assertions of the original:
 * - a quote for an account that an oracle on chain lists is 403: held, with a list in a file; with the oracle in
 *   `test/integration/chain`
 */
export const scenario: Scenario = {
  shows: 'accounts of a deny list get neither quotes nor orders',
  isFast: true,
  async run(world) {
    const [trader, banned] = [await world.createTrader({ WETH: '10' }), await world.createTrader({ WETH: '10' })];
    const book = await world.serve('--denied-addresses', world.file('denied.txt', `${banned.address}\n`));
    const [sellToken, buyToken] = [world.token('WETH'), world.token('USDC')];
    const quote = (from: string, receiver = from) =>
      book.post('/quote', {
        sellToken,
        buyToken,
        from,
        receiver,
        kind: 'sell',
        sellAmountBeforeFee: String(10n ** 18n),
      });
    assert.equal((await quote(trader.address)).status, 200);
    await book.rejects(quote(banned.address), 403, 'Forbidden');
    await book.rejects(quote(trader.address, banned.address), 403, 'Forbidden');
    const terms = { sellToken, buyToken, sellAmount: '1000', buyAmount: '1' };
    await book.place(trader, terms);
    await book.rejects(book.submit(banned, terms), 403, 'Forbidden');
    await book.rejects(book.submit(trader, { ...terms, receiver: banned.address }), 403, 'Forbidden');
  },
};

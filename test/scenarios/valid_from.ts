import assert from 'node:assert/strict';
import type { Hex } from 'viem';
import { placeNative } from './support/native-flow.ts';
import type { Scenario } from './support/scenario.ts';

/**
 * Assertions of the original:
 * - an order is held back until its `validFrom`, and traded afterwards: held
 * - so is one that is placed on chain: held
 */
export const scenario: Scenario = {
  shows: 'orders are held back until the time that their app data names, also those that are placed on chain',
  async run(world) {
    const book = await world.serve();
    const trader = await world.createTrader({ WETH: '1' });
    const validFrom = Math.floor(Date.now() / 1000) + 8;
    const appData = JSON.stringify({ appCode: 'later', metadata: { validFrom } });
    const terms = { sellToken: world.token('WETH'), buyToken: world.token('USDC'), sellAmount: '1000', buyAmount: '1' };
    const later = await book.place(trader, { ...terms, appData });
    const now = await book.place(trader, terms);
    const user = trader.address.toLowerCase() as Hex; // hex in lower case
    await placeNative(world, user, {
      buyToken: world.token('USDC'),
      receiver: user,
      sellAmount: 10n ** 18n,
      buyAmount: 1n,
      appData,
    });
    const isNative = ({ owner }: { owner: Hex }) => owner === world.contracts.nativeFlow;
    const orders = await book.until(`/account/${user}/orders`, (list) => list.some(isNative));
    const native = orders.find(isNative).uid;

    await book.untilListed(now);
    assert.equal((await book.get(`/orders/${later}`)).body.validFrom, validFrom);
    if (Date.now() / 1000 < validFrom - 1) {
      assert.deepEqual([await book.listed(later), await book.listed(native)], [undefined, undefined]);
    }
    for (const uid of [later, native]) await book.untilListed(uid);
    assert.ok(Date.now() / 1000 >= validFrom - 1);
    await world.settle(book, [{ uid: later }, { uid: native }]);
    for (const uid of [later, native]) await book.untilStatus(uid, 'fulfilled');
  },
};

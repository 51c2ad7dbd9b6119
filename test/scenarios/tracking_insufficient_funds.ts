import assert from 'node:assert/strict';
import type { Scenario } from './support/scenario.ts';

/**
 * Assertions of the original:
 * - the events of both orders are created and invalid when the funds are gone: held
 * - a repeated check adds no second invalid event: held, the event is derived from the last auction
 * - both orders are traded in the end: held
 */
export const scenario: Scenario = {
  shows: 'orders leave the auction while their owner lacks the balance or the allowance, and are traded afterwards',
  async run(world) {
    const book = await world.serve();
    const [spender, revoker] = [await world.createTrader({ WETH: '1' }), await world.createTrader({ WETH: '1' })];
    const terms = {
      sellToken: world.token('WETH'),
      buyToken: world.token('USDC'),
      sellAmount: String(10n ** 18n),
      buyAmount: '1000',
    };
    const uids = [await book.place(spender, terms), await book.place(revoker, terms)] as const;
    for (const uid of uids) await book.untilListed(uid);
    const typeOf = async (uid: string) => (await book.get(`/orders/${uid}/status`)).body.type;
    assert.deepEqual([await typeOf(uids[0]), await typeOf(uids[1])], ['active', 'active']);

    const labelsOf = async (uid: string): Promise<string[]> => {
      const { events } = (await book.operator('GET', `/debug/order/${uid}`)).body;
      return events.map(({ label }: { label: string }) => label);
    };
    const sink = `0x${'99'.repeat(20)}` as const;
    const transfer =
      `0xa9059cbb${sink.slice(2).padStart(64, '0')}${(10n ** 18n).toString(16).padStart(64, '0')}` as const;
    await world.send(spender.address, world.token('WETH'), transfer);
    await world.approve(revoker.address, 'WETH', 0n);
    for (const uid of uids) {
      await book.untilListed(uid, false);
      assert.equal(await typeOf(uid), 'open');
      assert.equal((await book.order(uid)).status, 'open');
      assert.deepEqual(await labelsOf(uid), ['created', 'invalid']);
    }
    await world.fund(spender.address, { WETH: '1' });
    await world.approve(revoker.address, 'WETH');
    for (const uid of uids) {
      await book.untilListed(uid);
      await world.settle(book, [{ uid }]);
      await book.untilStatus(uid, 'fulfilled');
      assert.equal(await typeOf(uid), 'traded');
      assert.equal((await labelsOf(uid)).at(-1), 'traded');
    }
  },
};

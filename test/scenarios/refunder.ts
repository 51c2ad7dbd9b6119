import assert from 'node:assert/strict';
import type { Hex } from 'viem';
import { parseAbi } from 'viem';
import { placeNative } from './support/native-flow.ts';
import type { Scenario } from './support/scenario.ts';

const ETHER = 10n ** 18n;
const SECOND: Hex = '0x00000000000000000000000000000000f10b0002';

/**
 * Assertions of the original:
 * - orders are refunded by thresholds of slippage and validity: excluded, a matter of the refunder
 * - invalidated and settled orders have no refund: held, for invalidated ones
 * - refunds of two contracts are recorded with their transactions: held
 */
export const scenario: Scenario = {
  shows: 'refunds of expired orders of two native-currency contracts are recorded, and invalidated orders have none',
  async run(world) {
    const { nativeFlow } = world.contracts;
    const code = await world.client.getCode({ address: nativeFlow });
    await world.client.setCode({ address: SECOND, bytecode: code ?? '0x' });
    await world.call(world.solver, SECOND, parseAbi(['function approveRelayer()']), 'approveRelayer', []);
    const book = await world.serve('--onchain-order-contracts', [nativeFlow, SECOND].join());
    const terms = { buyToken: world.token('USDC'), sellAmount: ETHER, buyAmount: 90_000n * 10n ** 18n, validFor: 300 };
    const orderOf = async (user: Hex) => (await book.until(`/account/${user}/orders`, ({ length }) => length === 1))[0];

    const placed = [];
    for (const contract of [nativeFlow, SECOND]) {
      const user = (await world.createTrader()).address.toLowerCase() as Hex; // hex in lower case
      const { invalidation } = await placeNative(world, user, { ...terms, receiver: user }, contract);
      const order = await orderOf(user);
      assert.equal(order.owner, contract);
      placed.push({ user, contract, invalidation, uid: order.uid });
    }
    const user = (await world.createTrader()).address;
    const withdrawn = await placeNative(world, user, { ...terms, receiver: user });
    const { uid: cancelled } = await orderOf(user);
    await world.send(user, nativeFlow, withdrawn.invalidation);
    await book.untilStatus(cancelled, 'cancelled');

    await world.client.increaseTime({ seconds: 400 });
    await world.mine();
    for (const { user: owner, contract, invalidation, uid } of placed) {
      const before = await world.balance(owner, 'ETH');
      // Any account may refund an expired order.
      const hash = await world.send(world.solver, contract, invalidation);
      assert.equal((await world.balance(owner, 'ETH')) - before, ETHER);
      const { ethflowData } = await book.until(`/orders/${uid}`, (order) => order.ethflowData.refundTxHash !== null);
      assert.equal(ethflowData.refundTxHash, hash);
      await book.untilListed(uid, false);
    }
    assert.equal((await book.get(`/orders/${cancelled}`)).body.ethflowData.refundTxHash, null);
  },
};

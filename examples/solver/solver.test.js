import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openSandbox } from './solver.js';

test('two opposite orders are settled with each other', async () => {
  const sandbox = await openSandbox();
  const alice = await sandbox.createTrader({ WETH: '1' });
  const bob = await sandbox.createTrader({ USDC: '2500' });
  const first = await alice.placeOrder({ sell: ['1', 'WETH'], for: ['2400', 'USDC'] });
  const second = await bob.placeOrder({ sell: ['2500', 'USDC'], for: ['0.9', 'WETH'] });
  await sandbox.waitFor(first, 'fulfilled');
  await sandbox.waitFor(second, 'fulfilled');
  const { executedBuyAmount } = await sandbox.book.orders.get(first);
  assert.equal(executedBuyAmount, '2500000000');
  await sandbox.close();
});

test('an order without a counterpart stays open', async () => {
  const sandbox = await openSandbox();
  const alice = await sandbox.createTrader({ WETH: '1' });
  const uid = await alice.placeOrder({ sell: ['1', 'WETH'], for: ['2400', 'USDC'] });
  await sandbox.mine();
  assert.equal((await sandbox.book.orders.get(uid)).status, 'open');
  await sandbox.close();
});

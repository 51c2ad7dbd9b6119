import type { SolverDriver } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { expect, it } from 'vitest';
import { address, NOW, place, USDC, WETH } from '../../../conformance/orders.ts';
import { manualClock } from '../../../support/clock.ts';
import { completeOrder } from '../../../support/complete-orders.ts';
import { SEPOLIA } from '../../../support/orders.ts';

it('auction run: reports the rejections of asynchronous listeners, and continues', async () => {
  const clock = manualClock(NOW * 1000);
  const store = memoryStore();
  await using book = createOrderBook({
    chainId: SEPOLIA,
    clock,
    store,
    expiryInterval: 'off',
    auctions: { minValidity: 0 },
    quotes: { gasPrice: '0', estimators: [{ name: 'test', nativePrice: () => '1', estimate: () => undefined }] },
  });
  const failures: unknown[] = [];
  book.on('failure', (failure) => failures.push((failure as Error).message));
  await book.start();
  const order = completeOrder(1, { validTo: NOW + 10_000 });
  await place(store, order);
  const execution = { side: 'sell', sellToken: WETH, limitSell: '2', buyToken: USDC, limitBuy: '1' };
  const driver: SolverDriver = {
    name: 'test',
    async solve() {
      const orders = { [order.uid]: { ...execution, executedSell: '2', executedBuy: '3' } };
      return { solutions: [{ solutionId: 0, submissionAddress: address(0x51), orders }] };
    },
    async settle() {},
  };
  await book.auctions.run({
    drivers: [driver],
    onRound: () => Promise.reject(new Error('the listener of rounds fails')),
    onSettled: () => Promise.reject(new Error('the listener of settlements fails')),
  });
  await expect
    .poll(() => [...failures].sort())
    .toEqual(['the listener of rounds fails', 'the listener of settlements fails']);
});

import { createSandbox } from 'intentbook/sandbox';
import { expect, it } from 'vitest';
import { createRandomOrders } from '../../support/random-orders.ts';

/** Orders to settle. The long run has 10,000: `TEST_SANDBOX_ORDERS=10000`. */
const ORDERS = Number(process.env['TEST_SANDBOX_ORDERS'] ?? 120);
const SEED = Number(process.env['TEST_SEED'] ?? 1);
const BATCH = ORDERS > 1000 ? 50 : 20;

it(`settles ${ORDERS} random orders within their limits, without a reverted settlement (seed ${SEED})`, async () => {
  await using sandbox = await createSandbox({ solver: 'manual' });
  const orders = await createRandomOrders(sandbox, SEED);
  let fulfilled = 0;
  sandbox.book.on('orderTraded', ({ cause }) => {
    if (cause.trade.completes) fulfilled++;
  });
  while (fulfilled < ORDERS) {
    for (let i = 0; i < BATCH; i++) await orders.place();
    await sandbox.settle();
    // A second auction settles what the first has left out.
    await sandbox.settle();
    // Prices return to where the limits are, so that the pools do not run away from them.
    await orders.movePrices();
  }
  expect(await orders.check()).toMatchObject({ reverted: [], violations: [] });
  expect(sandbox.failures).toEqual([]);
});

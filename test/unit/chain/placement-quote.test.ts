import type { Hex, OrderBookOptions } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { describe, expect, onTestFinished, test } from 'vitest';
import { blockOf, eventsIn, placementOf, TRADER } from '../../support/chain-events.ts';
import { manualClock } from '../../support/clock.ts';
import { COW, SEPOLIA, WETH } from '../../support/orders.ts';

const [weth, cow] = [WETH.toLowerCase() as Hex, COW.toLowerCase() as Hex]; // in lower case
const NATIVE: Hex = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';

/** Places an order that sells 1000 atoms of WETH, on a book with an estimator. Returns it as it is served. */
async function place(buyToken: Hex, options: Partial<OrderBookOptions> = {}, gasPrice = 0) {
  const estimator = { name: 'test', nativePrice: () => '1', estimate: () => ({ amount: 444n, gas: 1 }) };
  const quotes = { gasPrice, estimators: [estimator] };
  const book = createOrderBook({ chainId: SEPOLIA, clock: manualClock(), store: memoryStore(), quotes, ...options });
  onTestFinished(() => book.close());
  await book.start();
  const through = blockOf(5);
  await book.chain.apply({ events: eventsIn(through, [placementOf({ sellToken: weth, buyToken })]), through });
  const { orders } = await book.orders.list({ owner: TRADER });
  const order = await book.orders.get(orders[0]?.uid ?? '');
  return { error: order?.onchainOrderData?.placementError, quote: order?.quote };
}

describe('new quote of an order that is placed on chain', () => {
  test('does not depend on whether the sell amount covers the fee', async () => {
    const { error, quote } = await place(cow, {}, 5000);
    expect(error).toBeUndefined();
    expect(quote).toMatchObject({ sellAmount: '1000', buyAmount: '444', feeAmount: '5000' });
  });

  test.each([
    ['equal tokens', weth],
    ['unwrapped native currency', NATIVE],
  ])('is missing with an error of the order because of %s, unless the rules accept them', async (_, buyToken) => {
    expect(await place(buyToken, {})).toEqual({ error: 'PreValidationError', quote: undefined });
    const rules = { sameToken: 'accept', wrappedToNative: 'accept' } as const;
    expect((await place(buyToken, { rules })).error).toBeUndefined();
  });

  test.each<[string, Hex, Partial<OrderBookOptions>]>([
    ['the validity of submitted orders', cow, { limits: { minValidity: 2000 } }],
    ['denied owners', cow, { isDenied: () => true }],
  ])('is missing without an error because of the rule for %s', async (_, buyToken, options) => {
    expect(await place(buyToken, options)).toEqual({ error: undefined, quote: undefined });
  });

  test.each(['specification', 'production'] as const)(
    'is missing with an error without a price (%s)',
    async (profile) => {
      for (const result of [undefined, { rejection: 'CustomSolverError' as const }, { unsupportedToken: cow }]) {
        const estimator = { name: 'test', nativePrice: () => '1', estimate: () => result };
        const options = { profile, quotes: { gasPrice: 0, estimators: [estimator] } };
        expect(await place(cow, options)).toEqual({ error: 'QuoteNotFound', quote: undefined });
      }
    },
  );
});

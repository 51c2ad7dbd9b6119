import { httpEngine } from 'intentbook/solver';
import { expect, it } from 'vitest';
import { createOrder } from './orders.ts';

it('httpEngine: describes the rest of an order at a price within its limit', async () => {
  const requests: { readonly orders: readonly unknown[] }[] = [];
  const engine = httpEngine('http://127.0.0.1', {
    async fetch(_, init) {
      requests.push(JSON.parse(String(init?.body)));
      return Response.json({ solutions: [] });
    },
  });
  const rest = { partiallyFillable: true, executed: '1' };
  const orders = [
    createOrder(1, { ...rest, kind: 'sell', sellAmount: '3', buyAmount: '1000' }),
    createOrder(2, { ...rest, kind: 'buy', sellAmount: '1000', buyAmount: '3' }),
  ];
  await engine.solve({ id: 1, block: 1, orders, prices: {} }, new AbortController().signal);
  // Two of three atoms are left, at 333.33 atoms each.
  expect(requests[0]?.orders).toMatchObject([
    { sellAmount: '2', fullSellAmount: '3', buyAmount: '667', fullBuyAmount: '1000' },
    { sellAmount: '666', fullSellAmount: '1000', buyAmount: '2', fullBuyAmount: '3' },
  ]);
});

import type { Hex } from 'intentbook';
import { httpEngine } from 'intentbook/solver';
import { expect, it } from 'vitest';
import { addressOf, createOrder, SELL } from './orders.ts';

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

it('httpEngine: sends limits that the settlement respects after the volume fees', async () => {
  const requests: { readonly orders: readonly unknown[] }[] = [];
  const engine = httpEngine('http://127.0.0.1', {
    async fetch(_, init) {
      requests.push(JSON.parse(String(init?.body)));
      return Response.json({ solutions: [] });
    },
  });
  const terms = { sellAmount: '1000000', buyAmount: '1000000' };
  const protocolFees = [{ volume: { factor: 0.001 } }, { surplus: { factor: 0.5, maxVolumeFactor: 0.01 } }];
  const taxed = [createOrder(1, { ...terms, protocolFees }), createOrder(2, { ...terms, kind: 'buy', protocolFees })];
  await engine.solve({ id: 1, block: 1, orders: taxed, prices: {} }, new AbortController().signal);
  const [sale, purchase] = [{ sellAmount: '1000000', buyAmount: '1001002' }, { sellAmount: '999000' }];
  expect(requests[0]?.orders).toMatchObject([sale, { ...purchase, buyAmount: '1000000' }]);
});

const loan = {
  liquidityProvider: addressOf(1),
  protocolAdapter: addressOf(2),
  receiver: addressOf(3),
  token: SELL,
  amount: '1000',
};
const wrapper = { address: addressOf(4), data: '0x12' };
const hash = (n: number): Hex => `0x${n.toString(16).padStart(64, '0')}`;
const texts = new Map<string, string>([
  [hash(1), JSON.stringify({ metadata: { flashloan: { ...loan, amount: '0x3e8' } } })],
  [hash(2), JSON.stringify({ metadata: { wrappers: [wrapper, { ...wrapper, isOmittable: true }] } })],
  [hash(3), '{}'],
]);
const documents = {
  async get(given: string) {
    if (given === hash(5)) throw new Error('unavailable');
    return texts.get(given);
  },
};
const orders = [1, 2, 3, 4, 5].map((n) => createOrder(n, { appData: hash(n) }));
const auction = { id: 1, block: 1, orders, prices: {} };
const { signal } = new AbortController();

it('httpEngine: sends the flash loan and the wrappers of the documents of orders', async () => {
  const requests: { readonly orders: readonly Record<string, unknown>[] }[] = [];
  const send: typeof fetch = async (_, init) => {
    requests.push(JSON.parse(String(init?.body)));
    return Response.json({ solutions: [] });
  };
  await httpEngine('http://127.0.0.1', { fetch: send, documents }).solve(auction, signal);
  await httpEngine('http://127.0.0.1', { fetch: send }).solve(auction, signal);
  const sent = requests.map((request) =>
    request.orders.map(({ flashloanHint, wrappers }) => [flashloanHint, wrappers]),
  );
  const wrappers = [
    { ...wrapper, isOmittable: false },
    { ...wrapper, isOmittable: true },
  ];
  const none = [undefined, undefined];
  expect(sent).toEqual([
    [[loan, undefined], [undefined, wrappers], none, none, none],
    [none, none, none, none, none],
  ]);
});

it.each([
  ['flash loans', { flashloans: { [orders[0]?.uid ?? '']: loan } }, 0],
  ['wrappers', { wrappers: [wrapper] }, 0],
  ['neither', { flashloans: {}, wrappers: [] }, 1],
  ['null in their place', { flashloans: null, wrappers: null }, 1],
])('httpEngine: accepts a solution with %s only if the package can settle it', async (_, changes, count) => {
  const trades = [{ kind: 'fulfillment', order: orders[0]?.uid, executedAmount: '1000' }];
  const solution = { id: 1, prices: { [SELL]: '1' }, trades, interactions: [], ...changes };
  const engine = httpEngine('http://127.0.0.1', { fetch: async () => Response.json({ solutions: [solution] }) });
  expect(await engine.solve(auction, signal)).toHaveLength(count);
});

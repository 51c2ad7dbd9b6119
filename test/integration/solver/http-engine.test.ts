import fc from 'fast-check';
import type { AuctionOrder, Hex } from 'intentbook';
import { httpEngine } from 'intentbook/solver';
import { expect, it } from 'vitest';
import { addressOf, BUY, createOrder, SELL } from './orders.ts';

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
  const [sale, purchase] = [{ sellAmount: '1000000', buyAmount: '1001001' }, { sellAmount: '999001' }];
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
  const solution = { id: 1, prices: { [SELL]: '1', [BUY]: '1' }, trades, interactions: [], ...changes };
  const engine = httpEngine('http://127.0.0.1', { fetch: async () => Response.json({ solutions: [solution] }) });
  expect(await engine.solve(auction, signal)).toHaveLength(count);
});

const partial = createOrder(1, { partiallyFillable: true, executed: '400' });

it.each<[string, object, object, string | undefined]>([
  ['at its limit price', { executedAmount: '1000' }, { [SELL]: '1', [BUY]: '2' }, undefined],
  [
    'below its limit price',
    { executedAmount: '1000' },
    { [SELL]: '999', [BUY]: '2000' },
    'is executed below its limit price',
  ],
  [
    'below it after a fee',
    { executedAmount: '998', fee: '2' },
    { [SELL]: '1', [BUY]: '2' },
    'is executed below its limit price',
  ],
  ['in part', { executedAmount: '999' }, { [SELL]: '1', [BUY]: '1' }, 'cannot be filled in part'],
  [
    'without an amount',
    { executedAmount: '0' },
    { [SELL]: '1', [BUY]: '1' },
    'must be executed with 1 to 1000 atoms, got 0',
  ],
  ['without a price', { executedAmount: '1000' }, { [SELL]: '1' }, 'has a token without a price'],
  [
    'beyond its rest',
    { order: partial.uid, executedAmount: '601' },
    { [SELL]: '1', [BUY]: '1' },
    'must be executed with 1 to 600 atoms, got 601',
  ],
])('httpEngine: accepts a solution that fills an order %s only if the book does', async (_, fill, prices, problem) => {
  const listed = 'order' in fill ? partial : createOrder(1);
  const trades = [{ kind: 'fulfillment', order: listed.uid, ...fill }];
  const valid = {
    id: 2,
    prices: { [SELL]: '1', [BUY]: '1' },
    trades: [{ ...trades[0], fee: '0', executedAmount: listed === partial ? '600' : '1000' }],
    interactions: [],
  };
  const solutions = [{ id: 1, prices, trades, interactions: [] }, valid];
  const failures: unknown[] = [];
  const engine = httpEngine('http://engine', {
    fetch: async () => Response.json({ solutions }),
    onFailure: (failure) => failures.push(failure),
  });
  const found = await engine.solve({ ...auction, orders: [listed] }, signal);
  expect(found).toHaveLength(problem === undefined ? 2 : 1);
  expect(failures).toEqual(problem === undefined ? [] : [new Error(`engine engine: order ${listed.uid} ${problem}`)]);
});

it('httpEngine: leaves out a solution that fills an order twice', async () => {
  const trades = Array(2).fill({ kind: 'fulfillment', order: partial.uid, executedAmount: '300' });
  const solution = { id: 1, prices: { [SELL]: '1', [BUY]: '1' }, trades, interactions: [] };
  const engine = httpEngine('http://engine', { fetch: async () => Response.json({ solutions: [solution] }) });
  expect(await engine.solve({ ...auction, orders: [partial] }, signal)).toEqual([]);
});

it('httpEngine: sends limits at which the settlement respects those of an order with any fee policies', async () => {
  const factor = fc.integer({ min: 0, max: 900_000 }).map((ppm) => ppm / 1_000_000);
  const amount = fc.bigInt({ min: 1n, max: 10n ** 12n }).map(String);
  const shares = { factor, maxVolumeFactor: factor };
  const quote = fc.record({ sellAmount: amount, buyAmount: amount, fee: fc.constant('0'), solver: fc.constant(SELL) });
  const policy = fc.oneof(
    fc.record({ volume: fc.record({ factor }) }),
    fc.record({ surplus: fc.record(shares) }),
    fc.record({ priceImprovement: fc.record({ ...shares, quote }) }),
  );
  const terms = { kind: fc.constantFrom('sell', 'buy'), sellAmount: amount, buyAmount: amount };
  const orderOf = fc.record({ ...terms, protocolFees: fc.array(policy, { maxLength: 4 }) });
  let filled = 0;
  await fc.assert(
    fc.asyncProperty(orderOf, async (changes) => {
      const order = createOrder(1, changes as Partial<AuctionOrder>); // a kind and policies
      const failures: unknown[] = [];
      let isPossible = true;
      const engine = httpEngine('http://engine', {
        async fetch(_, init) {
          const [sent] = JSON.parse(String(init?.body)).orders;
          isPossible = sent.sellAmount !== '0';
          // Both amounts are exactly those that the engine was given.
          const prices = { [SELL]: sent.buyAmount, [BUY]: sent.sellAmount };
          const trades = [
            {
              kind: 'fulfillment',
              order: order.uid,
              executedAmount: order.kind === 'sell' ? sent.sellAmount : sent.buyAmount,
            },
          ];
          return Response.json({ solutions: isPossible ? [{ id: 1, prices, trades, interactions: [] }] : [] });
        },
        onFailure: (failure) => failures.push(failure),
      });
      const found = await engine.solve({ ...auction, orders: [order] }, signal);
      expect(failures).toEqual([]);
      expect(found).toHaveLength(isPossible ? 1 : 0);
      filled += found.length;
    }),
    { numRuns: 500 },
  );
  expect(filled).toBeGreaterThan(300);
});

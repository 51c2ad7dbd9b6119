import type { Hex } from 'intentbook';
import { createWrapperFilter } from 'intentbook/solver';
import { expect, it } from 'vitest';
import { createOrder, fillAll } from './orders.ts';

const hash = (n: number): Hex => `0x${n.toString(16).padStart(64, '0')}`;
const wrapped = (wrapper: object) =>
  JSON.stringify({ metadata: { wrappers: [{ address: `0x${'ab'.repeat(20)}`, data: '0x', ...wrapper }] } });

it('wrapper filter: leaves out orders whose settlement must call a wrapper', async () => {
  const texts = new Map<Hex, string>([
    [hash(0), '{}'],
    [hash(1), '{}'],
    [hash(2), wrapped({})],
    [hash(3), wrapped({ isOmittable: true })],
    [hash(4), wrapped({ isOmittable: false })],
  ]);
  const reads: Hex[] = [];
  const documents = {
    async get(given: string) {
      const requested = given as Hex; // of an order
      reads.push(requested);
      if (requested === hash(5)) throw new Error('unavailable');
      return texts.get(requested);
    },
  };
  const engine = createWrapperFilter({ name: 'e', solve: async ({ orders }) => [fillAll(...orders)] }, documents);
  // The sixth document is unknown, as of some orders that were placed on chain. The last order has none.
  const orders = [1, 2, 3, 4, 5, 6, 1, 0].map((n, i) => createOrder(i, { appData: hash(n) }));
  const solve = async () => {
    const solutions = await engine.solve({ id: 1, block: 1, orders, prices: {} }, new AbortController().signal);
    return solutions.flatMap(({ fills }) => fills.map(({ order }) => Number(order.appData)));
  };
  expect(await solve()).toEqual([1, 3, 6, 1, 0]);
  expect(reads).toEqual([1, 2, 3, 4, 5, 6, 0].map(hash));
  // Known documents are read once. One that becomes known counts.
  texts.set(hash(6), wrapped({}));
  expect(await solve()).toEqual([1, 3, 1, 0]);
  expect(reads.slice(7)).toEqual([5, 6].map(hash));
});

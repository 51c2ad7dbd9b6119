import fc from 'fast-check';
import { getExecution, respectsLimit } from 'intentbook/solver';
import { describe, expect, it } from 'vitest';
import { clearPair } from '../../../apps/solver/clear.ts';
import { getScore } from '../../../apps/solver/execution.ts';
import { BUY, createOrder, fillAll, SELL } from './orders.ts';

describe('execution with a fee', () => {
  it('takes exactly the fee beyond the amount at the clearing prices of a purchase', () => {
    const order = createOrder(1, { kind: 'buy', sellAmount: '1000', buyAmount: '19' });
    // 19 × 10 ÷ 100 is 1.9 atoms, and the contract rounds down.
    const fill = { order, executed: 19n, fee: 100n };
    expect(getExecution(fill, { [SELL]: 100n, [BUY]: 10n })).toEqual({ sold: 101n, bought: 19n });
  });

  it('sells the fee of any order in addition to the amount at the clearing prices', () => {
    const amount = fc.bigInt({ min: 1n, max: 10n ** 30n });
    fc.assert(
      fc.property(
        fc.constantFrom('sell' as const, 'buy' as const),
        fc.tuple(amount, amount, amount, amount),
        (kind, [executed, fee, sell, buy]) => {
          const prices = { [SELL]: sell, [BUY]: buy };
          const order = createOrder(1, { kind });
          const without = getExecution({ order, executed }, prices);
          if (kind === 'buy') {
            const { sold, bought } = getExecution({ order, executed, fee }, prices);
            expect([sold, bought]).toEqual([without.sold + fee, executed]);
          } else {
            const { sold, bought } = getExecution({ order, executed: executed + fee, fee }, prices);
            expect([sold, bought]).toEqual([executed + fee, without.bought]);
          }
        },
      ),
    );
  });

  it('respects the limit of an order whose fee uses it up', () => {
    const order = createOrder(1, { sellAmount: '1000', buyAmount: '900' });
    const prices = { [SELL]: 1n, [BUY]: 1n };
    expect(respectsLimit({ order, executed: 1000n, fee: 100n }, prices)).toBe(true);
    expect(respectsLimit({ order, executed: 1000n, fee: 101n }, prices)).toBe(false);
  });
});

describe('limit price', () => {
  const order = createOrder(1, { sellAmount: String(2n ** 144n), buyAmount: '1' });

  it('is not respected if the product of the sell amount and its price exceeds 256 bits', () => {
    const fill = { order, executed: 1n };
    expect(respectsLimit(fill, { [SELL]: 2n ** 112n - 1n, [BUY]: 1n })).toBe(true);
    expect(respectsLimit(fill, { [SELL]: 2n ** 112n, [BUY]: 1n })).toBe(false);
  });

  it('is not respected if the product with a price of one trade exceeds 256 bits', () => {
    const fill = { order: { ...order, sellAmount: String(2n ** 200n) }, executed: 2n ** 60n, fee: 1n };
    expect(respectsLimit(fill, { [SELL]: 1n, [BUY]: 1n })).toBe(false);
  });
});

describe('batch of a pair', () => {
  it('leaves out an order whose prices exceed 256 bits, and fills the others', async () => {
    const liquidity = { quote: (_sell: string, _buy: string, amount: bigint) => amount, take: () => [] };
    const normal = { order: createOrder(1), executed: 1000n };
    const huge = createOrder(2, { sellAmount: String(2n ** 250n), buyAmount: '1', partiallyFillable: true });
    const fills = [normal, { order: huge, executed: 10n }];
    const { signal } = new AbortController();
    const cleared = await clearPair({ base: SELL, other: BUY }, fills, liquidity, 0n, signal);
    expect(cleared?.fills).toEqual([normal]);
  });
});

it('score: counts as 0 above 256 bits, since such a solution does not compete', () => {
  const solution = fillAll(createOrder(1));
  expect(getScore(solution, { [BUY]: String(10n ** 18n) })).toBe(500n);
  expect(getScore(solution, { [BUY]: String(2n ** 255n) })).toBe((500n * 2n ** 255n) / 10n ** 18n);
  const large = fillAll(createOrder(1, { sellAmount: String(10n ** 30n) }));
  expect(getScore(large, { [BUY]: String(2n ** 255n) })).toBe(0n);
});

it('score: converts the surplus of a purchase to the buy token at its limit price', () => {
  const order = createOrder(1, { kind: 'buy', sellAmount: '4000', buyAmount: '1000' });
  const solution = { prices: { [SELL]: 1n, [BUY]: 1n }, fills: [{ order, executed: 1000n }], interactions: [] };
  expect(getScore(solution, { [BUY]: String(10n ** 18n) })).toBe(750n);
});

describe('execution with protocol fees', () => {
  const prices = { [SELL]: 1n, [BUY]: 1n };
  const volume = { volume: { factor: 0.01 } };
  const surplus = { surplus: { factor: 0.5, maxVolumeFactor: 0.9 } };

  it('deducts the fees of a sale from the bought amount, and respects the limit with them', () => {
    const order = createOrder(1, { sellAmount: '1000', buyAmount: '500', protocolFees: [surplus, volume] });
    // Half of the surplus of 500, then 1 % of 750.
    expect(getExecution({ order, executed: 1000n }, prices)).toEqual({ sold: 1000n, bought: 743n });
    const tight = createOrder(1, { sellAmount: '1000', buyAmount: '991', protocolFees: [volume] });
    expect(respectsLimit({ order: tight, executed: 1000n }, prices)).toBe(false);
    expect(respectsLimit({ order: { ...tight, buyAmount: '990' }, executed: 1000n }, prices)).toBe(true);
  });

  it('adds the fees of a purchase to the sold amount', () => {
    const order = createOrder(1, { kind: 'buy', sellAmount: '2000', buyAmount: '1000', protocolFees: [volume] });
    expect(getExecution({ order, executed: 1000n }, prices)).toEqual({ sold: 1010n, bought: 1000n });
  });
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { executedFee } from '../../../src/chain/attribution.ts';
import type { SettledTrade } from '../../../src/protocol/settle-calldata.ts';

const price = fc.bigInt({ min: 1n, max: 2n ** 100n });
const choice = fc.record({
  kind: fc.constantFrom('sell' as const, 'buy' as const),
  partiallyFillable: fc.boolean(),
  uniformSell: price,
  uniformBuy: price,
  customSell: price,
  customBuy: price,
  fixed: fc.bigInt({ min: 1n, max: 2n ** 128n }),
  other: fc.bigInt({ min: 0n, max: 2n ** 128n }),
});
type Choice = typeof choice extends fc.Arbitrary<infer T> ? T : never;

const [SELL_TOKEN, BUY_TOKEN] = [`0x${'5e'.repeat(20)}`, `0x${'b0'.repeat(20)}`] as const;

/** Computes the execution of the contract at given prices (GPv2Settlement.sol, computeTradeExecution). */
function executed(kind: 'sell' | 'buy', fixed: bigint, sell: bigint, buy: bigint): [sold: bigint, bought: bigint] {
  return kind === 'sell' ? [fixed, (fixed * sell + buy - 1n) / buy] : [(fixed * buy) / sell, fixed];
}

function settled({ kind, partiallyFillable, uniformSell, uniformBuy, customSell, customBuy, fixed, other }: Choice) {
  const [sold, bought] = executed(kind, fixed, customSell, customBuy);
  const whole = kind === 'sell' ? { sellAmount: fixed, buyAmount: other } : { sellAmount: other, buyAmount: fixed };
  const trade: SettledTrade = {
    kind,
    partiallyFillable,
    sellToken: SELL_TOKEN,
    buyToken: BUY_TOKEN,
    executedAmount: fixed,
    // The signed amounts of a partially filled order exceed the current execution.
    ...(partiallyFillable ? { sellAmount: fixed + other, buyAmount: fixed + other } : whole),
    custom: { sell: customSell, buy: customBuy },
    uniform: { sell: uniformSell, buy: uniformBuy },
  };
  const tokens = { sellToken: SELL_TOKEN, buyToken: BUY_TOKEN } as const;
  return { trade, observed: { ...tokens, sellAmount: sold, buyAmount: bought, feeAmount: 0n } };
}

test('fee is the output at uniform prices minus the actual output, in the sell token', () => {
  fc.assert(
    fc.property(choice, (chosen) => {
      const { kind, fixed, uniformSell, uniformBuy } = chosen;
      const { trade, observed } = settled(chosen);
      const [soldByAll, boughtByAll] = executed(kind, fixed, uniformSell, uniformBuy);
      const missing = kind === 'sell' ? boughtByAll - observed.buyAmount : observed.sellAmount - soldByAll;
      const inSellToken = kind === 'sell' ? (missing * uniformBuy) / uniformSell : missing;
      expect(executedFee(trade, observed)).toBe(missing > 0n ? inSellToken : 0n);
    }),
    { numRuns: 2000 },
  );
});

test('fee of a trade at uniform prices is zero', () => {
  fc.assert(
    fc.property(choice, (chosen) => {
      const { uniformSell: customSell, uniformBuy: customBuy } = chosen;
      const { trade, observed } = settled({ ...chosen, customSell, customBuy });
      expect(executedFee(trade, observed)).toBe(0n);
    }),
  );
});

test('fee does not include the signed fee of an old order', () => {
  const { trade, observed } = settled({
    kind: 'sell',
    partiallyFillable: false,
    fixed: 1000n,
    other: 1n,
    uniformSell: 60n,
    uniformBuy: 100n,
    customSell: 59n,
    customBuy: 100n,
  });
  const withFee = { ...observed, sellAmount: observed.sellAmount + 7n, feeAmount: 7n };
  expect(executedFee(trade, withFee)).toBe(executedFee(trade, observed));
});

test('fee is unknown with the calldata of another trade', () => {
  fc.assert(
    fc.property(choice, (chosen) => {
      const { trade, observed } = settled(chosen);
      expect(executedFee({ ...trade, sellToken: BUY_TOKEN }, observed)).toBeUndefined();
      expect(executedFee({ ...trade, uniform: { sell: 0n, buy: 1n } }, observed)).toBeUndefined();
      const fixed = chosen.kind === 'sell' ? 'sellAmount' : 'buyAmount';
      expect(executedFee(trade, { ...observed, [fixed]: observed[fixed] + 1n })).toBeUndefined();
    }),
  );
});

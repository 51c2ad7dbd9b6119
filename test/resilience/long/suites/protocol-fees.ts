import { deepStrictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { computeProtocolFees } from '../../../../src/protocol/protocol-fees.ts';
import { expectedFees, feeCase } from '../../../support/protocol-fees.ts';
import type { LongSuite } from '../suite.ts';

/** Cases of every run, however short. */
const LEAST = 100_000;
const BATCH = 10_000;

export const suite: LongSuite = {
  description: 'protocol fees of trades equal those in exact fractions',
  async run({ milliseconds, seed, count }) {
    const end = performance.now() + milliseconds;
    for (let batch = 0; batch * BATCH < LEAST || performance.now() < end; batch++) {
      const property = fc.property(feeCase, ({ trade, policies }) =>
        deepStrictEqual(computeProtocolFees(trade, policies), expectedFees(trade, policies)),
      );
      fc.assert(property, { numRuns: BATCH, seed: (seed + batch) % 2 ** 31 });
      count('cases', BATCH);
      await new Promise(setImmediate);
    }
  },
};

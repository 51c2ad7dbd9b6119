import assert from 'node:assert/strict';
import fc from 'fast-check';
import { playAffiliateLife } from '../../../property/affiliate-lives.ts';
import { affiliateSteps } from '../../../property/affiliate-steps.ts';
import type { LongSuite } from '../suite.ts';

/** Lives between two looks at the clock. */
const LIVES = 500;

export const suite: LongSuite = {
  description: 'statistics of affiliates after random trades, reorganisations and restarts equal a recomputation',
  async run({ milliseconds, seed, count }) {
    const end = performance.now() + milliseconds;
    for (let round = 0; performance.now() < end; round++) {
      const play = fc.asyncProperty(affiliateSteps, async (steps) => {
        const { found, expected } = await playAffiliateLife(steps);
        assert.deepEqual(found, expected);
      });
      await fc.assert(play, { numRuns: LIVES, seed: seed + round });
      count('lives', LIVES);
    }
  },
};

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { playAffiliateLife } from './affiliate-lives.ts';
import { affiliateSteps } from './affiliate-steps.ts';

test('affiliate statistics: 200 random lives with reorganisations and restarts equal a recomputation', async () => {
  await fc.assert(
    fc.asyncProperty(affiliateSteps, async (steps) => {
      const { found, expected } = await playAffiliateLife(steps);
      expect(found).toEqual(expected);
    }),
    { numRuns: 200 },
  );
});

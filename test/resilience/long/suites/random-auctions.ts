import assert from 'node:assert/strict';
import { playAuctions } from '../../../support/random-auctions.ts';
import type { LongSuite } from '../suite.ts';

/** Auctions of one sandbox. The next one has another seed. */
const AUCTIONS = 200;

export const suite: LongSuite = {
  description: 'random auctions of the reference driver and of an external one: no revert, no limit exceeded',
  async run({ milliseconds, seed, count }) {
    const end = Date.now() + milliseconds;
    const isOver = () => Date.now() > end;
    for (let n = 0; n === 0 || !isOver(); n++) {
      const figures = await playAuctions(seed + n, AUCTIONS, isOver);
      const { reverted, violations, problems } = figures;
      assert.deepEqual({ reverted, violations, problems }, { reverted: [], violations: [], problems: [] });
      count('auctions with solutions of both', figures.auctions);
      count('auctions', figures.rounds);
      count('settlements of the reference driver', figures.settled['reference']);
      count('settlements of the external driver', figures.settled['external']);
      count('settlements given up before they were sent', figures.givenUp);
      count('trades', figures.trades);
    }
  },
};

import assert from 'node:assert/strict';
import { playAuctions } from '../../../support/random-auctions.ts';
import type { LongSuite } from '../suite.ts';

/** Auctions of one sandbox. The next one has another seed. */
const AUCTIONS = 200;

export const suite: LongSuite = {
  description:
    'random auctions of the reference driver and two external ones: no revert, no limit exceeded, exact fees',
  async run({ milliseconds, seed, count }) {
    const end = Date.now() + milliseconds;
    const isOver = () => Date.now() > end;
    for (let n = 0; n === 0 || !isOver(); n++) {
      const figures = await playAuctions(seed + n, AUCTIONS, isOver);
      const { reverted, violations, problems } = figures;
      assert.deepEqual({ reverted, violations, problems }, { reverted: [], violations: [], problems: [] });
      count('auctions with solutions of all drivers', figures.auctions);
      count('auctions', figures.rounds);
      for (const [driver, settlements] of Object.entries(figures.settled))
        count(`settlements of the driver ${driver}`, settlements);
      count('settlements given up before they were sent', figures.givenUp);
      count('trades', figures.trades);
      count('trades with a protocol fee', figures.fees);
    }
  },
};

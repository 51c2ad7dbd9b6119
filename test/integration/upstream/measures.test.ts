import { expect, test } from 'vitest';
import { playFollowing } from '../../support/upstream/following.ts';
import { playRelay } from '../../support/upstream/relaying.ts';

/** Time is virtual here: the figures do not depend on the machine. */
const PLAN = { seed: 1, orders: 300, minutes: 10, fillsPerBlock: 5, cancellationsPerMinute: 6, hasFaults: false };

test('a book in front of another one knows fills within seconds and cancellations within a minute', async () => {
  const { problems, readsPerSecond, cancellationDelay, fillDelay, cancellations } = await playFollowing(PLAN);
  expect(problems).toEqual([]);
  expect(cancellations).toBeGreaterThan(30);
  expect(cancellationDelay.longest).toBeLessThanOrEqual(60);
  expect(fillDelay.longest).toBeLessThanOrEqual(2);
  expect(readsPerSecond).toBeLessThanOrEqual(1.5);
});

test('a book in front of another one misses and repeats nothing after outages, limits, reorganisations and restarts', async () => {
  const figures = await playFollowing({ ...PLAN, orders: 200, minutes: 60, hasFaults: true });
  expect(figures.problems).toEqual([]);
  expect(figures.reorganisations).toBeGreaterThan(5);
  expect(figures.restarts).toBeGreaterThan(4);
  expect(figures.readsPerSecond).toBeLessThanOrEqual(1.5);
});

const FAULTS = {
  'cut before': 0.05,
  'cut after': 0.05,
  doubled: 0.05,
  late: 0.05,
  '429': 0.01,
  '503': 0.02,
  html: 0.02,
};

test.each(['direct', 'queue'] as const)(
  'relay %s over a bad network claims what the other book knows',
  async (relay) => {
    const figures = await playRelay({
      seed: 4,
      submissions: 200,
      rate: 2,
      relay,
      faults: { ...FAULTS, truncated: 0.02 },
    });
    expect(figures.problems).toEqual([]);
    expect(figures.accepted).toBeGreaterThan(50);
  },
);

import { expect, it } from 'vitest';
import { playAuctions } from '../../support/random-auctions.ts';

it('settles random auctions of the reference driver and of an external one within the limits', async () => {
  const { auctions, settled, reverted, violations, problems } = await playAuctions(1, 15);
  expect({ reverted, violations, problems }).toEqual({ reverted: [], violations: [], problems: [] });
  expect(auctions).toBeGreaterThanOrEqual(15);
  expect(settled).toEqual({ reference: expect.toSatisfy(isPositive), external: expect.toSatisfy(isPositive) });
});

const isPositive = (count: number) => count > 0;

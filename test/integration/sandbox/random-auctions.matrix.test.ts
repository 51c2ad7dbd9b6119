import { expect, it } from 'vitest';
import { playAuctions } from '../../support/random-auctions.ts';

it('settles random auctions of the reference driver and two external ones within the limits, with exact fees', async () => {
  const { auctions, settled, fees, reverted, violations, problems } = await playAuctions(1, 15);
  expect({ reverted, violations, problems }).toEqual({ reverted: [], violations: [], problems: [] });
  expect(auctions).toBeGreaterThanOrEqual(15);
  expect(Object.keys(settled).sort()).toEqual(['external 1', 'external 2', 'reference']);
  expect(fees).toBeGreaterThan(0);
});

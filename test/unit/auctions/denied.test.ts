import { expect, test } from 'vitest';
import type { AuctionCandidate } from '../../../src/auctions/auction-order.ts';
import { createFindDenied } from '../../../src/auctions/denied.ts';
import { createDeadlineLimiter } from '../../../src/concurrency/deadline.ts';
import { manualClock } from '../../support/clock.ts';

test('deny list of auctions: uses the previous results after a timeout, without further queries', async () => {
  const clock = manualClock(0);
  const failures: unknown[] = [];
  let isOffline = false;
  let count = 0;
  const isDenied = async (address: string) => {
    count++;
    return isOffline ? new Promise<boolean>(() => {}) : address.endsWith('7');
  };
  const find = createFindDenied({ isDenied }, createDeadlineLimiter(clock, 5_000), (each) => failures.push(each));
  const candidates = Array.from({ length: 100 }, (_, i) => {
    return { order: { owner: `0x${String(i).padStart(40, '0')}`, receiver: null } } as unknown as AuctionCandidate;
  });
  const denied = await find(candidates);
  isOffline = true;
  count = 0;
  const finding = find(candidates);
  await new Promise((resolve) => setImmediate(resolve));
  clock.advance(5_000);
  const result = await Promise.race([finding, new Promise((resolve) => setTimeout(resolve, 100, 'pending'))]);
  expect(result).toEqual(denied);
  expect([denied.size, count, failures.length]).toEqual([10, 4, 4]);
});

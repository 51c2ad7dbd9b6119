import { expect, test } from 'vitest';
import type { AuctionCandidate } from '../../../src/auctions/auction-order.ts';
import { createFindDenied } from '../../../src/auctions/denied.ts';
import { createDeadlineLimiter } from '../../../src/concurrency/abort.ts';
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

test.each([undefined, null, 'false', 0])('deny list of auctions: does not use the result %j', async (result) => {
  const failures: unknown[] = [];
  let isBroken = false;
  const [denied, admitted] = [`0x${'1'.repeat(40)}`, `0x${'2'.repeat(40)}`];
  const isDenied = (address: string) => (isBroken ? (result as never) : address === denied); // as from JavaScript
  const find = createFindDenied({ isDenied }, createDeadlineLimiter(manualClock(0), 5_000), (each) =>
    failures.push(each),
  );
  const candidates = [denied, admitted].map((owner) => {
    return { order: { owner, receiver: null } } as unknown as AuctionCandidate;
  });
  await find(candidates);
  isBroken = true;
  expect(await find(candidates)).toEqual(new Set([denied]));
  expect(failures.length).toBe(2);
});

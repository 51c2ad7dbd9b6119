import { expect, test } from 'vitest';
import { startRace } from '../../../src/quotes/estimator-race.ts';
import { createRaceCache } from '../../../src/quotes/race-cache.ts';
import { manualClock } from '../../support/clock.ts';

test('a race that was closed is not shared, although an estimator has responded', async () => {
  const clock = manualClock();
  const cache = createRaceCache(clock, 2_000);
  const runners = [
    { name: 'a', run: async () => ({ outcome: 'responded' as const, value: 7 }) },
    { name: 'b', run: () => new Promise<never>(() => {}) },
  ];
  const share = () =>
    cache.share<number>('key', 1_000, (onEnd) =>
      startRace({ runners, clock, timeout: 1_000, observe: () => {}, onEnd }),
    );
  const first = share();
  const subscription = first.subscribe(1_000);
  await subscription.changed();
  first.close();
  const second = share();
  expect([second === first, second.state]).toEqual([false, 'running']);
  second.close();
});

test('a race is shared for its lifetime, also if the wall clock is set back meanwhile', async () => {
  const clock = manualClock();
  const cache = createRaceCache(clock, 2_000);
  const runner = { name: 'a', run: async () => ({ outcome: 'responded' as const, value: 7 }) };
  const share = () =>
    cache.share<number>('key', 1_000, (onEnd) =>
      startRace({ runners: [runner], clock, timeout: 1_000, observe: () => {}, onEnd }),
    );
  const first = share();
  const subscription = first.subscribe(1_000);
  await subscription.changed();
  subscription.unsubscribe();
  clock.advance(1_999);
  clock.jump(-1_999);
  expect(share()).toBe(first);
  clock.advance(1);
  const second = share();
  expect(second).not.toBe(first);
  second.close();
});

import { expect, test } from 'vitest';
import { createThrottle } from '../../../src/concurrency/limit.ts';
import { yieldToEventLoop } from '../../../src/ports/clock.ts';

/** Ticks that a test triggers by hand. */
function turns() {
  let next = () => {};
  return {
    turn: () =>
      new Promise<void>((resolve) => {
        next = resolve;
      }),
    async pass() {
      next();
      for (let i = 0; i < 5; i++) await Promise.resolve();
    },
  };
}

test('throttle releases a limited number of callers per tick, in order of arrival', async () => {
  const { turn, pass } = turns();
  const pacer = createThrottle(3, turn);
  const passed: number[] = [];
  for (let n = 0; n < 8; n++) void pacer.acquire().then(() => passed.push(n));
  await Promise.resolve();
  expect(passed).toEqual([0, 1, 2]);
  expect(pacer.waiting).toBe(5);
  await pass();
  expect(passed).toEqual([0, 1, 2, 3, 4, 5]);
  void pacer.acquire().then(() => passed.push(8)); // the waiting calls have used up the tick
  await pass();
  expect(passed).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  expect(pacer.waiting).toBe(0);
});

test('throttle does not delay a single caller per tick', async () => {
  const { turn, pass } = turns();
  const pacer = createThrottle(1, turn);
  for (let n = 0; n < 3; n++) {
    let passed = false;
    void pacer.acquire().then(() => {
      passed = true;
    });
    await Promise.resolve();
    expect(passed).toBe(true);
    await pass();
  }
});

test('throttle lets other work run between two ticks', async () => {
  const seen: string[] = [];
  setImmediate(() => seen.push('immediate'));
  for (let i = 0; i < 10 && seen.length === 0; i++) await yieldToEventLoop();
  expect(seen).toEqual(['immediate']);
});

import { expect, test } from 'vitest';
import { createWorker } from '../../../src/concurrency/lifecycle.ts';
import { manualClock } from '../../support/clock.ts';

test('worker reports a failure that persists less and less often, and the next one after a success at once', async () => {
  const clock = manualClock();
  const reports: number[] = [];
  let isBroken = true;
  let runs = 0;
  const worker = createWorker({
    clock,
    interval: 1000,
    async run() {
      runs++;
      if (isBroken) throw new Error('the store is down');
      return undefined;
    },
    onFailure: () => reports.push(runs),
  });
  async function runTimes(times: number): Promise<void> {
    for (let i = 0; i < times; i++) {
      clock.advance(1000);
      while (worker.running) await new Promise((resolve) => setImmediate(resolve));
    }
  }
  worker.start();
  await runTimes(200);
  expect(reports).toEqual([1, 2, 4, 8, 16, 32, 64, 124, 184]);
  isBroken = false;
  await runTimes(1);
  isBroken = true;
  await runTimes(3);
  expect(reports.slice(9)).toEqual([runs - 2, runs - 1]);
  await worker.stop();
});

test.each(['stop', 'drain'] as const)('worker subscribes to its signals from start until %s', async (end) => {
  const wakes = new Set<() => void>();
  let runs = 0;
  const worker = createWorker({
    clock: manualClock(),
    watch(wake) {
      wakes.add(wake);
      return () => void wakes.delete(wake);
    },
    async run() {
      runs++;
      return undefined;
    },
    onFailure: () => expect.unreachable(),
  });
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  expect(wakes.size).toBe(0);
  worker.start();
  await settle();
  for (const wake of wakes) wake();
  await settle();
  expect(runs).toBe(2);
  await worker[end]();
  expect(wakes.size).toBe(0);
});

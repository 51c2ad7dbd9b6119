import { expect, test } from 'vitest';
import { createRequestCoalescer } from '../../../src/concurrency/coalesce.ts';

/** Reads that a test completes by hand. */
function airport() {
  const begun: { land(value: number): void; crash(failure: Error): void }[] = [];
  const read = () =>
    new Promise<number>((land, crash) => {
      begun.push({ land, crash });
    });
  return { begun, read };
}

const settle = async () => {
  for (let i = 0; i < 10; i++) await Promise.resolve();
};

test('coalesced reads share one further store call that starts after the current one', async () => {
  const share = createRequestCoalescer();
  const { begun, read } = airport();
  const first = share('a', read);
  const others = Array.from({ length: 50 }, () => share('a', read));
  await settle();
  expect(begun).toHaveLength(1);
  begun[0]?.land(1);
  expect(await first).toBe(1);
  await settle();
  expect(begun).toHaveLength(2);
  const latecomer = share('a', read); // a running read can predate the call
  begun[1]?.land(2);
  expect(await Promise.all(others)).toEqual(others.map(() => 2));
  await settle();
  expect(begun).toHaveLength(3);
  begun[2]?.land(3);
  expect(await latecomer).toBe(3);
});

test('coalesced reads of different keys are independent', async () => {
  const share = createRequestCoalescer();
  const { begun, read } = airport();
  const both = [share('a', read), share('b', read)];
  begun[1]?.land(2);
  expect(await both[1]).toBe(2);
  begun[0]?.land(1);
  expect(await both[0]).toBe(1);
});

test('coalesced read that fails rejects its callers and not the next ones', async () => {
  const share = createRequestCoalescer();
  const { begun, read } = airport();
  const first = share('a', read);
  const second = share('a', read);
  begun[0]?.crash(new Error('gone'));
  await expect(first).rejects.toThrow('gone');
  await settle();
  begun[1]?.land(2);
  expect(await second).toBe(2);
  const third = share('a', read);
  begun[2]?.land(3);
  expect(await third).toBe(3);
});

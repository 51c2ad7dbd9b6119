import { setImmediate as nextTick } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createBatcher } from '../../../adapters/postgres/quotes.ts';

/** Waits until a batch has started: one tick for its requests, and one that brings none. */
async function waitForStart() {
  await nextTick();
  await nextTick();
}

/** Creates a batcher whose batches end when the test decides. */
function createControlled() {
  const batches: { readonly requests: readonly number[]; end(): void; fail(cause: Error): void }[] = [];
  const request = createBatcher<number, string>(
    (requests) =>
      new Promise((resolve, reject) => {
        batches.push({ requests, end: () => resolve(requests.map(String)), fail: reject });
      }),
  );
  return { batches, request };
}

describe('PostgreSQL batcher', () => {
  test('runs the requests of one tick together and returns each its own result', async () => {
    const { batches, request } = createControlled();
    const results = Promise.all([3, 1, 2].map(request));
    await waitForStart();
    expect(batches.map(({ requests }) => requests)).toEqual([[3, 1, 2]]);
    batches[0]?.end();
    expect(await results).toEqual(['3', '1', '2']);
  });

  test('collects requests while each tick brings some, in at most four ticks', async () => {
    const { batches, request } = createControlled();
    const results: Promise<string>[] = [];
    for (const n of [1, 2, 3, 4, 5]) {
      results.push(request(n));
      await nextTick();
    }
    await waitForStart();
    expect(batches.map(({ requests }) => requests)).toEqual([[1, 2, 3, 4], [5]]);
    for (const { end } of batches) end();
    expect(await Promise.all(results)).toEqual(['1', '2', '3', '4', '5']);
  });

  test('runs at most two batches at the same time and collects requests meanwhile', async () => {
    const { batches, request } = createControlled();
    const results: Promise<string>[] = [];
    for (const n of [1, 2, 3, 4]) {
      results.push(request(n));
      await waitForStart();
    }
    expect(batches.map(({ requests }) => requests)).toEqual([[1], [2]]);
    batches[1]?.end();
    expect(await results[1]).toBe('2');
    await waitForStart();
    expect(batches.map(({ requests }) => requests)).toEqual([[1], [2], [3, 4]]);
    for (const { end } of batches) end();
    expect(await Promise.all(results)).toEqual(['1', '2', '3', '4']);
  });

  test('splits more requests than fit in one batch', async () => {
    const { batches, request } = createControlled();
    const results = Promise.all(Array.from({ length: 300 }, (_, n) => request(n)));
    await nextTick();
    await nextTick();
    expect(batches.map(({ requests }) => requests.length)).toEqual([128, 128]);
    for (const { end } of batches) end();
    await expect.poll(() => batches.map(({ requests }) => requests.length)).toEqual([128, 128, 44]);
    batches[2]?.end();
    expect((await results)[299]).toBe('299');
  });

  test('rejects the requests of a failed batch only', async () => {
    const { batches, request } = createControlled();
    const failing = Promise.allSettled([request(1), request(2)]);
    await waitForStart();
    const other = request(3);
    await waitForStart();
    batches[0]?.fail(new Error('connection lost'));
    batches[1]?.end();
    expect((await failing).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await other).toBe('3');
  });
});

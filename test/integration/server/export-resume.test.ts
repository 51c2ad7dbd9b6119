import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Store } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { afterEach, describe, expect, test } from 'vitest';
import { exportBook } from '../../../apps/server/commands/export.ts';
import { importBook } from '../../../apps/server/commands/import.ts';
import { createCsvWriter } from '../../../apps/server/commands/table-export/csv-writer.ts';
import { manualClock } from '../../support/clock.ts';
import { account, SEPOLIA, signCancellation, signOrder } from '../../support/orders.ts';
import { cleanUp, scratch } from './process.ts';

afterEach(cleanUp);

const PROGRESS = { at() {}, end() {} };
const TRADER = account(1);

/** Opens a book with orders of different creation dates, some of them equal. `interval` is in milliseconds. */
async function openBook(count: number, interval: number) {
  const store = memoryStore();
  const clock = manualClock();
  const book = createOrderBook({ chainId: SEPOLIA, store, clock });
  await book.start();
  let placed = 0;
  async function place(more: number): Promise<string[]> {
    const uids = [];
    for (let i = 0; i < more; i++) {
      if (placed % 3 === 0) clock.advance(interval);
      placed++;
      const validTo = Math.floor(clock.now() / 1000) + 3600;
      const result = await book.orders.submit(await signOrder(TRADER, { validTo, sellAmount: String(placed) }));
      if (result.status !== 'accepted') throw new Error('the order must be accepted');
      uids.push(result.uid);
    }
    return uids;
  }
  const uids = await place(count);
  const { chainId, settlementContract } = book;
  const cancel = async (orderUids: readonly string[]) => {
    const result = await book.orders.cancel({ orderUids, ...(await signCancellation(TRADER, { orderUids })) });
    expect(result.status).toBe('cancelled');
  };
  return { store, clock, uids, place, cancel, domain: { chainId, settlementContract } };
}

async function list(store: Store) {
  return (await store.orders.list({ limit: 1000 })).map(({ uid, state }) => [uid, state]);
}

describe('export that was interrupted', () => {
  const cases = [1, 1000, 120_000].flatMap((interval) => [0, 1, 5, 11].map((written) => ({ written, interval })));

  test.each(cases)('contains what has changed since, after $written orders each $interval ms', async (of) => {
    const { written, interval } = of;
    const { store, clock, uids, place, cancel, domain } = await openBook(12, interval);
    const file = join(await scratch(), 'book.ndjson');
    await exportBook(store, domain, file, PROGRESS);
    const [header = '', ...lines] = readFileSync(file, 'utf8').split('\n');
    const begin = [header, ...lines.slice(0, written)].map((line) => `${line}\n`).join('');
    writeFileSync(file, `${begin}{"uid":"0x`);
    // The first line of the file is that of the newest order.
    await cancel([uids[0] ?? '', uids[11] ?? '']);
    await place(5);
    expect(await exportBook(store, domain, file, PROGRESS)).toMatchObject({ resumed: written });

    // It is interrupted again, at each line.
    const text = readFileSync(file, 'utf8').split('\n');
    await cancel([uids[5] ?? '']);
    await place(2);
    const expected = await list(store);
    for (let to = 1; to < text.length - 2; to++) {
      writeFileSync(
        file,
        text
          .slice(0, to)
          .map((line) => `${line}\n`)
          .join(''),
      );
      await exportBook(store, domain, file, PROGRESS);
      const orders = readFileSync(file, 'utf8').trimEnd().split('\n').slice(1, -1);
      expect(new Set(orders).size).toBe(orders.length);
      const target = memoryStore();
      await target.open({ domain, clock });
      await importBook(target, domain, file, PROGRESS);
      expect([to, await list(target)]).toEqual([to, expected]);
      await importBook(target, domain, file, PROGRESS);
      expect([to, await list(target)]).toEqual([to, expected]);
    }
  });
});

test('of two exports to one file, one at most succeeds, and then the file has all orders', async () => {
  const { store, clock, domain } = await openBook(600, 1);
  const expected = await list(store);
  for (const [written = 0, reads] of [
    [0, 0],
    [0, 1],
    [3, 0],
  ]) {
    const file = join(await scratch(), 'book.ndjson');
    if (written > 0) {
      await exportBook(store, domain, file, PROGRESS);
      const lines = readFileSync(file, 'utf8')
        .split('\n')
        .slice(0, 1 + written);
      writeFileSync(file, lines.map((line) => `${line}\n`).join(''));
    }
    let begin = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    let read = 0;
    const slow: Store = {
      ...store,
      orders: {
        ...store.orders,
        async list(query) {
          if (read++ === reads) begin();
          await new Promise((resolve) => setTimeout(resolve, 5));
          return store.orders.list(query);
        },
      },
    };
    const first = exportBook(slow, domain, file, PROGRESS);
    const second = begun.then(() => exportBook(slow, domain, file, PROGRESS));
    const outcomes = await Promise.allSettled([first, second]);
    expect(outcomes.filter(({ status }) => status === 'rejected')).not.toHaveLength(0);
    // If each has stopped the other, the file is continued.
    if (outcomes.every(({ status }) => status === 'rejected')) await exportBook(store, domain, file, PROGRESS);
    const target = memoryStore();
    await target.open({ domain, clock });
    await importBook(target, domain, file, PROGRESS);
    expect(await list(target)).toEqual(expected);
  }
});

test.skipIf(process.platform === 'win32')('an export to a file that is not regular is rejected', async () => {
  const store = memoryStore();
  const domain = { chainId: SEPOLIA, settlementContract: `0x${'00'.repeat(20)}` } as const;
  const pipe = join(await scratch(), 'pipe');
  execFileSync('mkfifo', [pipe]);
  for (const path of [pipe, '/dev/null']) {
    await expect(exportBook(store, domain, path, PROGRESS)).rejects.toThrow(`"${path}" must be a regular file`);
  }
});

type Write = (...args: unknown[]) => Promise<unknown>;

/** Replaces the calls of the system that write to open files. */
async function replaceWrite<T>(replace: (write: Write) => Write, work: () => Promise<T>): Promise<T> {
  const file = await open(join(await scratch(), 'prototype'), 'w');
  const prototype = Object.getPrototypeOf(file) as { write: Write };
  await file.close();
  const { write } = prototype;
  prototype.write = replace(write);
  try {
    return await work();
  } finally {
    prototype.write = write;
  }
}

/** Makes each call of the system write a part only, as a disk that becomes full does. */
const writeInParts = <T>(work: () => Promise<T>) =>
  replaceWrite(
    (write) =>
      function (this: unknown, data: unknown, ...rest: unknown[]) {
        if (typeof data === 'string') return write.call(this, data.slice(0, 100), ...rest);
        const [offset, length, position] = rest as [number, number, number];
        return write.call(this, data, offset, Math.min(length, 100), position);
      },
    work,
  );

test.each(['more orders', 'the trailer'])(
  'an export fails if another one removes lines before it writes %s',
  async (last) => {
    const { store, domain } = await openBook(600, 1);
    const path = join(await scratch(), 'book.ndjson');
    const removeBefore = (write: Write): Write =>
      function (this: unknown, data: unknown, ...rest: unknown[]) {
        const isTrailer = String(data).includes('"sha256"');
        const size = statSync(path).size;
        if (size > 1000 && (last === 'the trailer') === isTrailer) truncateSync(path, size - 100);
        return write.call(this, data, ...rest);
      };
    await expect(replaceWrite(removeBefore, () => exportBook(store, domain, path, PROGRESS))).rejects.toThrow(
      `another process writes the file "${path}"`,
    );
    expect([existsSync(path), existsSync(`${path}.damaged`)]).toEqual([false, true]);
    expect(await exportBook(store, domain, path, PROGRESS)).toMatchObject({ orders: 600, resumed: 0 });
  },
);

test('an export names its file only if the file cannot be written', async () => {
  const { store, domain } = await openBook(5, 1);
  const fail = (syscall: string) => Object.assign(new Error(`${syscall} failed`), { syscall });
  const unconnected: Store = { ...store, orders: { ...store.orders, list: () => Promise.reject(fail('connect')) } };
  const path = join(await scratch(), 'book.ndjson');
  await expect(exportBook(unconnected, domain, path, PROGRESS)).rejects.toThrow(/^connect failed$/);
  const full = replaceWrite(
    () => () => Promise.reject(fail('write')),
    () => exportBook(store, domain, path, PROGRESS),
  );
  await expect(full).rejects.toThrow(`the file "${path}" cannot be written: write failed`);
});

test('an export is complete although the system writes parts only', async () => {
  const { store, domain } = await openBook(5, 1000);
  const path = join(await scratch(), 'parts.ndjson');
  const { orders } = await writeInParts(() => exportBook(store, domain, path, PROGRESS));
  expect(orders).toBe(5);
  const restored = memoryStore();
  await restored.open({ domain, clock: manualClock() });
  expect(await importBook(restored, domain, path, PROGRESS)).toMatchObject({ orders: 5, inserted: 5 });
});

test('a CSV file is complete although the system writes parts only', async () => {
  const path = join(await scratch(), 'parts.csv');
  await writeInParts(async () => {
    const writer = await createCsvWriter(path, [{ name: 'uid', type: 'text' }]);
    await writer.write(Array.from({ length: 50 }, (_, i) => [`order ${i}`]));
    await writer.finish();
  });
  expect(readFileSync(path, 'utf8').trimEnd().split(/\r?\n/)).toHaveLength(51);
});

import type { OrderBook } from 'intentbook';
import { createApi, createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { expect, test } from 'vitest';
import { createEventCounts } from '../../../apps/explorer/event-counts.ts';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';
import { directFixture } from '../http/http-fixture.ts';

test('event counts include each entry once, when reads overlap and after the log was replaced', async () => {
  await using book = createOrderBook({ chainId: SEPOLIA, store: memoryStore() });
  await book.start();
  const { send } = directFixture(createApi(book), () => 0);
  const validTo = Math.floor(Date.now() / 1000) + 600;
  for (const key of [1, 2]) {
    const { status } = await send('POST', '/api/v1/orders', { body: await signOrder(account(key), { validTo }) });
    expect(status).toBe(201);
  }
  const counts = createEventCounts(book);
  const created = async () => (await counts.read()).minutes.reduce((sum, minute) => sum + minute.created, 0);
  expect(await Promise.all([created(), created()])).toEqual([2, 2]);
  expect(await created()).toBe(2);

  // A log with fewer entries, such as that of a replica that lags behind.
  let isBehind = false;
  const log = { ...book.log, last: async () => (isBehind ? 1 : book.log.last()) };
  const replaced = createEventCounts({ ...book, log } as OrderBook);
  await replaced.read();
  isBehind = true;
  await replaced.read();
  isBehind = false;
  expect((await replaced.read()).minutes.reduce((sum, minute) => sum + minute.created, 0)).toBe(2);
});

test('event counts include the newest entries after a long pause', async () => {
  await using book = createOrderBook({ chainId: SEPOLIA, store: memoryStore() });
  await book.start();
  let end = 100;
  const entry = (id: number) => ({ id, type: 'created', uid: `${id}`, owner: '0x', at: book.clock.now() - (end - id) });
  const log = {
    last: async () => end,
    after: async (id: number, limit: number) =>
      Array.from({ length: Math.max(0, Math.min(limit, end - id)) }, (_, i) => entry(id + 1 + i)),
  };
  const counts = createEventCounts({ clock: book.clock, log } as unknown as OrderBook); // the members that are used
  await counts.read();
  end = 50_000;
  const { now, minutes } = await counts.read();
  const newest = minutes.filter(({ minute }) => minute >= Math.floor(now / 60_000) - 1);
  expect(newest.reduce((sum, { created }) => sum + created, 0)).toBeGreaterThanOrEqual(10_000);
});

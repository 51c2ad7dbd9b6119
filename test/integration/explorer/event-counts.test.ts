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

import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { expect, test } from 'vitest';
import { BOB, DAI, place } from '../../conformance/orders.ts';
import { manualClock } from '../../support/clock.ts';
import { completeOrder } from '../../support/complete-orders.ts';
import { SEPOLIA } from '../../support/orders.ts';

test('order streams send the orders that match their filters, and end with the book', async () => {
  const store = memoryStore();
  const book = createOrderBook({ chainId: SEPOLIA, store, clock: manualClock(), expiryInterval: 'off' });
  await book.start();
  const [alices, bobs] = [completeOrder(1), completeOrder(2, { owner: BOB, sellToken: DAI })];
  await place(store, alices, bobs);
  const { rendered } = book.orders;
  const streams = {
    all: await rendered.stream({}, { after: 0 }),
    bob: await rendered.stream({ owner: BOB }, { after: 0 }),
    sellToken: await rendered.stream({ sellToken: alices.sellToken }, { after: 0 }),
  };
  const uids = async (name: keyof typeof streams) =>
    (await streams[name].take()).map((event) => event.type === 'item' && JSON.parse(event.data).uid);
  expect(await uids('all')).toEqual([alices.uid, bobs.uid]);
  expect(await uids('bob')).toEqual([bobs.uid]);
  expect(await uids('sellToken')).toEqual([alices.uid]);
  const waiting = uids('all');
  await book.close();
  expect(await waiting).toEqual([]);
});

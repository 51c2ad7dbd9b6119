import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { expect, test } from 'vitest';
import { orderOf, outcomeOf } from './admission-fixture.ts';

/** Its own file: the modules of a submission must not have been loaded by another test. */
test('an order that is submitted just before the book is closed is accepted', async () => {
  const order = await orderOf({ validTo: Math.floor(Date.now() / 1000) + 600 });
  const isDenied = () => false;
  const book = createOrderBook({ chainId: 11155111, store: memoryStore(), isDenied });
  await book.start();
  const submitted = book.orders.submit({ ...order, quoteId: 7 });
  await book.close();
  expect(outcomeOf(await submitted)).toBe('accepted');
});

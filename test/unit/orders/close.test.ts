import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { expect, test } from 'vitest';
import { hanging } from '../quotes/quotes-fixture.ts';
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

test('an order that waits for a function of the host when the book is closed is accepted', async () => {
  const order = await orderOf({ validTo: Math.floor(Date.now() / 1000) + 600 });
  let decide = (_isDenied: boolean) => {};
  const isDenied = () =>
    new Promise<boolean>((resolve) => {
      decide = resolve;
    });
  const book = createOrderBook({ chainId: 11155111, store: memoryStore(), isDenied });
  await book.start();
  const submitted = book.orders.submit(order);
  await new Promise((resolve) => setTimeout(resolve, 20));
  const closed = book.close();
  await new Promise((resolve) => setTimeout(resolve, 20));
  decide(false);
  await closed;
  expect(outcomeOf(await submitted)).toBe('accepted');
});

test('an order whose quote is searched when the book is closed is accepted', async () => {
  const order = await orderOf({ validTo: Math.floor(Date.now() / 1000) + 600 });
  const book = createOrderBook({
    chainId: 11155111,
    store: memoryStore(),
    quotes: { gasPrice: 1n, estimators: [hanging('slow')], orderTimeout: 100 },
  });
  await book.start();
  const submitted = book.orders.submit(order);
  await new Promise((resolve) => setTimeout(resolve, 20));
  await book.close();
  expect(outcomeOf(await submitted)).toBe('accepted');
});

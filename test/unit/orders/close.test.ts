import type { OrderBookOptions } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { expect, test } from 'vitest';
import { manualClock } from '../../support/clock.ts';
import { answering, GAS_PRICE, hanging } from '../quotes/quotes-fixture.ts';
import { orderOf, outcomeOf } from './admission-fixture.ts';

async function openBook(options: Partial<OrderBookOptions>) {
  const order = await orderOf({ validTo: Math.floor(Date.now() / 1000) + 600 });
  const book = createOrderBook({ chainId: 11155111, store: memoryStore(), ...options });
  const failures: unknown[] = [];
  book.on('failure', (failure) => failures.push(failure));
  await book.start();
  return { book, order, failures };
}

/** A function of the host that denies nobody, and responds when the test permits it. */
function heldDecision() {
  let allow = () => {};
  const allowed = new Promise<void>((resolve) => {
    allow = resolve;
  });
  return { isDenied: () => allowed.then(() => false), allow };
}

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Its own file: the modules of a submission must not have been loaded by another test. */
test('an order that is submitted just before the book is closed is accepted', async () => {
  const { book, order } = await openBook({ isDenied: () => false });
  const submitted = book.orders.submit({ ...order, quoteId: 7 });
  await book.close();
  expect(outcomeOf(await submitted)).toBe('accepted');
});

test('an order that waits for a function of the host when the book is closed is accepted', async () => {
  const { isDenied, allow } = heldDecision();
  const { book, order } = await openBook({ isDenied });
  const submitted = book.orders.submit(order);
  await wait(20);
  const closed = book.close();
  await wait(20);
  allow();
  await closed;
  expect(outcomeOf(await submitted)).toBe('accepted');
});

test('an order whose quote is searched when the book is closed is accepted', async () => {
  const { book, order } = await openBook({
    quotes: { gasPrice: GAS_PRICE, estimators: [hanging('slow')], orderTimeout: 100 },
  });
  const submitted = book.orders.submit(order);
  await wait(20);
  await book.close();
  expect(outcomeOf(await submitted)).toBe('accepted');
});

test('an order whose checks end after the book began to close is stored with its quote', async () => {
  const { isDenied, allow } = heldDecision();
  const quotes = { gasPrice: GAS_PRICE, estimators: [answering('steady', 10n ** 18n)] };
  const { book, order, failures } = await openBook({ isDenied, quotes });
  const submitted = book.orders.submit(order);
  await wait(20);
  const closed = book.close();
  await wait(20);
  allow();
  await closed;
  const result = await submitted;
  expect([outcomeOf(result), failures]).toEqual(['accepted', []]);
  await book.start();
  expect(await book.orders.get('uid' in result ? result.uid : '')).toHaveProperty('quote.sellAmount');
  await book.close();
});

test('the close of a book waits for the checks and for the search for a quote', async () => {
  const { isDenied, allow } = heldDecision();
  const quotes = { gasPrice: GAS_PRICE, estimators: [hanging('slow')], orderTimeout: 3000 };
  const clock = manualClock(Date.now());
  const { book, order } = await openBook({ isDenied, quotes, checkTimeout: 1000, clock });
  const submitted = book.orders.submit(order);
  await wait(20);
  const closed = book.close();
  await wait(20);
  clock.advance(999);
  allow();
  await wait(100);
  clock.advance(3000);
  await closed;
  expect(outcomeOf(await submitted)).toBe('accepted');
});

test('the close of a book waits for checks whose timeout is the longest that a timer supports', async () => {
  const { isDenied, allow } = heldDecision();
  const { book, order } = await openBook({ isDenied, checkTimeout: 2 ** 31 - 1 });
  const submitted = book.orders.submit(order);
  await wait(20);
  const closed = book.close();
  await wait(20);
  allow();
  await closed;
  expect(outcomeOf(await submitted)).toBe('accepted');
});

test('concurrent calls of close wait for the same end', async () => {
  const { isDenied, allow } = heldDecision();
  const { book, order } = await openBook({ isDenied });
  const submitted = book.orders.submit(order);
  await wait(20);
  const ended: string[] = [];
  const closes = ['first', 'second'].map((name) => book.close().then(() => ended.push(name)));
  await wait(20);
  expect(ended).toEqual([]);
  allow();
  await Promise.all(closes);
  expect(outcomeOf(await submitted)).toBe('accepted');
  expect(ended).toEqual(['first', 'second']);
});

test('a start during a close waits for it, and a close after that start closes the book again', async () => {
  const { isDenied, allow } = heldDecision();
  const { book, order } = await openBook({ isDenied });
  const submitted = book.orders.submit(order);
  await wait(20);
  const closed = book.close();
  const started = book.start();
  await wait(20);
  allow();
  await Promise.all([closed, started]);
  expect(outcomeOf(await submitted)).toBe('accepted');
  expect(await book.ready()).toMatchObject({ ready: true });

  await Promise.all([book.close(), book.start(), book.close()]);
  await expect(book.orders.submit(order)).rejects.toThrow('the book is closed');
});

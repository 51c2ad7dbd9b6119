import fc from 'fast-check';
import type { OrderBook } from 'intentbook';
import { createOrderBook } from 'intentbook';
import type { HistoryEntry, SequentialModel } from 'intentbook/testing';
import { checkLinearizability, manualClock } from 'intentbook/testing';
import { afterAll, expect, test } from 'vitest';
import { SEPOLIA, signCancellation } from '../support/orders.ts';
import { temporarySchema } from '../support/postgres.ts';
import type { BookStorage } from './book-driver.ts';
import { withShortDelays } from './book-driver.ts';
import { sample } from './book-model.ts';
import { SIGNERS, START } from './book-orders.ts';
import { memoryStorage, postgresStorage, sqliteStorage } from './book-stores.ts';

/** Signed orders of one owner, and the number of them that may be open. */
const ORDERS = [0, 1, 2, 10];
const QUOTA = 2;

const place = await temporarySchema();
afterAll(async () => await place[Symbol.asyncDispose]());

interface Call {
  readonly op: 'submit' | 'cancel' | 'read';
  readonly order: number;
}

/** The orders of an owner, with their status. */
type Orders = Readonly<Record<number, 'open' | 'cancelled'>>;

const MODEL: SequentialModel<Orders, Call, string> = {
  initial: {},
  step(orders, { op, order }, output) {
    const status = orders[order];
    const countOpen = Object.values(orders).filter((each) => each === 'open').length;
    let result: [output: string, orders: Orders];
    if (op === 'read') result = [status ?? 'none', orders];
    else if (op === 'submit') {
      if (status !== undefined) result = ['DuplicatedOrder', orders];
      else if (countOpen >= QUOTA) result = ['TooManyLimitOrders', orders];
      else result = ['accepted', { ...orders, [order]: 'open' }];
    } else if (status === undefined) result = ['OrderNotFound', orders];
    else if (status === 'cancelled') result = ['AlreadyCancelled', orders];
    else result = ['cancelled', { ...orders, [order]: 'cancelled' }];
    return output === undefined || output === result[0] ? [result[1]] : [];
  },
};

const cancellations = await Promise.all(
  ORDERS.map(async (order) => {
    const orderUids = [sample(order).uid];
    return { orderUids, ...(await signCancellation(SIGNERS[0] as (typeof SIGNERS)[0], { orderUids })) };
  }),
);

async function run(book: OrderBook, { op, order }: Call): Promise<string> {
  if (op === 'read') return (await book.orders.get(sample(order).uid))?.status ?? 'none';
  if (op === 'submit') {
    const result = await book.orders.submit(sample(order).creation);
    return result.status === 'accepted' ? 'accepted' : result.error.code;
  }
  const cancellation = cancellations[ORDERS.indexOf(order)];
  if (cancellation === undefined) throw new Error(`order ${order} has no cancellation`);
  const result = await book.orders.cancel(cancellation);
  return result.status === 'cancelled' ? 'cancelled' : result.error.code;
}

/** Records the history of concurrent clients, which are spread over the processes of a storage. */
async function record(storage: BookStorage, clients: readonly (readonly Call[])[]) {
  const clock = withShortDelays(manualClock(START * 1000));
  const books = Array.from({ length: storage.writers }, () =>
    createOrderBook({
      chainId: SEPOLIA,
      clock,
      store: storage.connect(),
      limits: { maxOpenOrders: QUOTA },
      expiryInterval: 'off',
    }),
  );
  for (const book of books) await book.start();
  const history: HistoryEntry<Call, string>[] = [];
  let time = 0;
  await Promise.all(
    clients.map(async (calls, client) => {
      for (const input of calls) {
        const start = ++time;
        const output = await run(books[client % books.length] as OrderBook, input); // at least one exists
        history.push({ input, output, start, end: ++time });
      }
    }),
  );
  for (const book of books) await book.close();
  await storage.dispose();
  return history;
}

const call = fc.record<Call>({
  op: fc.constantFrom('submit', 'submit', 'cancel', 'read'),
  order: fc.constantFrom(...ORDERS),
});
const schedules = fc.array(fc.array(call, { minLength: 1, maxLength: 6 }), { minLength: 2, maxLength: 5 });

const LONG = process.env['TEST_LONG'] !== undefined;
const STORAGES: readonly { readonly name: string; readonly runs: number; readonly make: () => BookStorage }[] = [
  { name: 'memory', runs: LONG ? 5000 : 60, make: memoryStorage },
  { name: 'SQLite', runs: LONG ? 2000 : 30, make: sqliteStorage },
  { name: 'PostgreSQL', runs: LONG ? 1000 : 12, make: () => postgresStorage(place) },
];

test.each(STORAGES)('histories of concurrent clients on $name are linearizable', async ({ runs, make }) => {
  const property = fc.asyncProperty(schedules, async (clients) => {
    expect(checkLinearizability(MODEL, await record(make(), clients))).toEqual({ status: 'linearizable' });
  });
  await fc.assert(property, { numRuns: runs });
});

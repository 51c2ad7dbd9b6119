import type { OrderBook, OrderBookError, OrderBookOptions, OrderCreation, Store, SubmitResult } from 'intentbook';
import { createApi, createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import type { HttpFixture } from '../../integration/http/http-fixture.ts';
import { directFixture } from '../../integration/http/http-fixture.ts';
import type { ManualClock } from '../../support/clock.ts';
import { manualClock } from '../../support/clock.ts';
import type { OrderChoice, WireOrder } from '../../support/orders.ts';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';

/** Start time of these books, in milliseconds and seconds since 1970. */
export const START = Date.UTC(2026, 0, 1);
export const NOW = START / 1000;

export const ALICE = account(1);
export const BOB = account(2);
export const alice = ALICE.address.toLowerCase();
export const bob = BOB.address.toLowerCase();

/** A book on a manual clock, in process and over HTTP, with its reported failures. */
export interface AdmissionFixture {
  readonly book: OrderBook;
  readonly http: HttpFixture;
  readonly clock: ManualClock;
  readonly store: Store;
  readonly failures: unknown[];
  /** Number of calls of each order method of the store. */
  readonly calls: { get: number; insert: number };
  [Symbol.asyncDispose](): Promise<void>;
}

export async function admissionFixture(options: Partial<OrderBookOptions> = {}): Promise<AdmissionFixture> {
  const clock = manualClock(START);
  const calls = { get: 0, insert: 0 };
  const store = counting(options.store ?? memoryStore(), calls);
  const book = createOrderBook({ chainId: SEPOLIA, clock, ...options, store });
  const failures: unknown[] = [];
  book.on('failure', (failure) => failures.push(failure));
  await book.start();
  const http = directFixture(createApi(book), () => Math.floor(clock.now() / 1000));
  return { book, http, clock, store, failures, calls, [Symbol.asyncDispose]: () => closeOn(clock, book) };
}

/** Closes a book while its clock advances, so that checks that hang reach their deadline. */
async function closeOn(clock: ManualClock, book: OrderBook): Promise<void> {
  let isClosed = false;
  const closed = book.close().finally(() => {
    isClosed = true;
  });
  while (!isClosed) {
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(1000);
  }
  await closed;
}

function counting(store: Store, calls: { get: number; insert: number }): Store {
  const { orders } = store;
  return {
    ...store,
    orders: {
      ...orders,
      get(uids) {
        calls.get++;
        return orders.get(uids);
      },
      insert(inserts, options) {
        calls.insert++;
        return orders.insert(inserts, options);
      },
    },
  };
}

let made = 0;

/** Returns a new order of Alice that every book accepts, with the given fields. */
export function orderOf(choice: OrderChoice = {}, signer = ALICE): Promise<WireOrder> {
  return signOrder(signer, { validTo: NOW + 600, buyAmount: String(10 ** 6 + ++made), ...choice });
}

/** Returns a document with a metadata object. */
export const documentOf = (metadata: object) => JSON.stringify({ metadata });

/** Converts an order to one with a presignature. */
export const presigned = (order: WireOrder): WireOrder => ({ ...order, signingScheme: 'presign', signature: '0x' });

/** Converts an order to one with a contract signature. */
export const byContract = (order: WireOrder, signature: `0x${string}` = '0x1234'): WireOrder => ({
  ...order,
  signingScheme: 'eip1271',
  signature,
});

/** `accepted`, or the code of the rejection. */
export async function outcome(book: OrderBook, order: WireOrder): Promise<string> {
  return outcomeOf(await book.orders.submit(order as OrderCreation));
}

export function outcomeOf(result: SubmitResult): string {
  return result.status === 'accepted' ? 'accepted' : result.error.code;
}

export async function accepted(book: OrderBook, order: WireOrder): Promise<`0x${string}`> {
  const result = await book.orders.submit(order);
  if (result.status !== 'accepted') throw result.error;
  return result.uid;
}

export async function rejection(book: OrderBook, order: WireOrder): Promise<OrderBookError> {
  const result = await book.orders.submit(order);
  if (result.status !== 'rejected') throw new Error('the order was accepted');
  return result.error;
}

/** Waits for all work that does not depend on the clock. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve));
}

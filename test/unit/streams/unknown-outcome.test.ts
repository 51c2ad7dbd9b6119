import type { OrderBookOptions, Store, SubmitResult } from 'intentbook';
import { createOrderBook, StoreError } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { afterEach, describe, expect, test } from 'vitest';
import { blockOf, eventsIn, SETTLEMENT_HAPPENING, tradeOf } from '../../support/chain-events.ts';
import type { ManualClock } from '../../support/clock.ts';
import { manualClock } from '../../support/clock.ts';
import { account, SEPOLIA, signCancellation, signOrder } from '../../support/orders.ts';

const ALICE = account(1);

/** Wraps a memory store whose acknowledgements are lost while `isLossy`. */
function createLossyStore() {
  const inner = memoryStore();
  const state = { isLossy: false };
  const lose = <A extends readonly unknown[], R>(call: (...args: A) => Promise<R>) => {
    return async (...args: A): Promise<R> => {
      const result = await call(...args);
      if (state.isLossy) throw new StoreError('OutcomeUnknown', 'the connection broke');
      return result;
    };
  };
  const { orders, chain } = inner;
  const store: Store = {
    ...inner,
    orders: {
      ...orders,
      async insert(...args) {
        const outcomes = await orders.insert(...args);
        return state.isLossy ? outcomes.map(() => ({ status: 'unknown' })) : outcomes;
      },
      cancel: lose(orders.cancel),
      expire: lose(orders.expire),
    },
    chain: { ...chain, apply: lose(chain.apply), rollback: lose(chain.rollback) },
  };
  return { store, state };
}

function getUid(result: SubmitResult) {
  if (result.status === 'rejected') throw result.error;
  return result.uid;
}

let stop = async () => {};
afterEach(() => stop());

describe('after a write whose outcome is unknown, listeners receive its entries:', () => {
  async function open(options: Partial<OrderBookOptions> = {}) {
    const clock: ManualClock = manualClock();
    const { store, state } = createLossyStore();
    const book = createOrderBook({ chainId: SEPOLIA, clock, store, expiryInterval: 'off', ...options });
    const received: string[] = [];
    book.on('orderCreated', () => received.push('created'));
    book.on('orderCancelled', () => received.push('cancelled'));
    book.on('orderExpired', () => received.push('expired'));
    book.on('orderTraded', () => received.push('traded'));
    book.on('orderReverted', () => received.push('reverted'));
    await book.start();
    stop = () => book.close();
    const order = await signOrder(ALICE, { validTo: Math.floor(clock.now() / 1000) + 600 });
    const submit = () => book.orders.submit(order);
    return { book, clock, state, submit, received };
  }

  test('a submission', async () => {
    const { submit, state, received } = await open();
    state.isLossy = true;
    expect((await submit()).status).toBe('unknown');
    await expect.poll(() => received).toEqual(['created']);
  });

  test('a cancellation', async () => {
    const { book, submit, state, received } = await open();
    const orderUids = [getUid(await submit())];
    const cancellation = { orderUids, ...(await signCancellation(ALICE, { orderUids })) };
    state.isLossy = true;
    expect((await book.orders.cancel(cancellation)).status).toBe('unknown');
    await expect.poll(() => received).toEqual(['created', 'cancelled']);
  });

  test('an expiry', async () => {
    const { clock, submit, state, received } = await open({ expiryInterval: 1_000 });
    await submit();
    state.isLossy = true;
    clock.advance(700_000);
    await expect.poll(() => received).toEqual(['created', 'expired']);
  });

  test('a block and its rollback', async () => {
    const { book, submit, state, received } = await open();
    const order = await book.orders.get(getUid(await submit()));
    if (order === undefined) throw new Error('the order is not stored');
    await book.chain.apply({ events: [], through: blockOf(1) });
    state.isLossy = true;
    const through = blockOf(2);
    const events = eventsIn(through, [tradeOf(order, 1n, 100_000n), SETTLEMENT_HAPPENING]);
    await expect(book.chain.apply({ events, through })).rejects.toThrow();
    await expect.poll(() => received).toEqual(['created', 'traded']);
    await expect(book.chain.rollback(1)).rejects.toThrow();
    await expect.poll(() => received).toEqual(['created', 'traded', 'reverted']);
  });
});

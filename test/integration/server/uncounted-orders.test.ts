import { join } from 'node:path';
import type { Domain, Store } from 'intentbook';
import { createOrderBook, StoreError, systemClock } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { exportBook } from '../../../apps/server/commands/export.ts';
import { pruneBook } from '../../../apps/server/commands/prune.ts';
import { exportOrders } from '../../../apps/server/commands/table-export/order-table.ts';
import { verifyBook } from '../../../apps/server/commands/verify.ts';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';
import { cleanUp, scratch } from './process.ts';

const totals: (number | undefined)[] = [];
const PROGRESS = { at: (_: number, total?: number) => void totals.push(total), end() {} };

/** A store with one order, in which the count of all orders takes longer than the limit of a statement. */
let store: Store;
let domain: Domain;
beforeEach(async () => {
  totals.length = 0;
  const whole = memoryStore();
  const book = createOrderBook({ chainId: SEPOLIA, store: whole });
  await book.start();
  const validTo = Math.floor(systemClock.now() / 1000) + 3600;
  expect((await book.orders.submit(await signOrder(account(1), { validTo }))).status).toBe('accepted');
  const total = () => Promise.reject(new StoreError('Unavailable', 'the PostgreSQL store cannot count orders'));
  store = { ...whole, orders: { ...whole.orders, total } };
  domain = { chainId: book.chainId, settlementContract: book.settlementContract };
});
afterEach(cleanUp);

describe('store whose orders are too many to count', () => {
  test('is exported', async () => {
    expect(await exportBook(store, domain, join(await scratch(), 'book.ndjson'), PROGRESS)).toMatchObject({
      orders: 1,
    });
    expect(totals).toEqual([undefined]);
  });

  test('is exported to a table', async () => {
    expect(await exportOrders(store, undefined)).toMatchObject({ total: undefined });
  });

  test('is verified', async () => {
    expect(await verifyBook(store, domain, PROGRESS)).toMatchObject({ orders: 1, problems: [] });
    expect(totals).toEqual([undefined]);
  });

  test('is pruned', async () => {
    const later = systemClock.now() + 10 * 24 * 3_600_000;
    expect(await pruneBook(store, { orders: 1 }, later, PROGRESS)).toMatchObject({ swept: 1, orders: 1 });
    expect(totals).toEqual([undefined, undefined]);
  });
});

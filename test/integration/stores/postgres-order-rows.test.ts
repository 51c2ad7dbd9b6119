import type { StoredOrder } from 'intentbook';
import { systemClock } from 'intentbook';
import { migratePostgres, postgresStore } from 'intentbook/postgres';
import { describe, expect, test } from 'vitest';
import { DOMAIN } from '../../conformance/harness.ts';
import { completeOrder } from '../../support/complete-orders.ts';
import { temporarySchema } from '../../support/postgres.ts';

const ORDERS = Array.from({ length: 5 }, (_, n) => completeOrder(n + 1));
const UIDS = ORDERS.map(({ uid }) => uid);
const CHANGED = UIDS[2] ?? '0x';
const DOCUMENT = '{"a":"\u001d\u001e€😀\n"}';

/** Opens a store with five orders, one of which is then changed by SQL. */
async function openOrders(change = '') {
  const here = await temporarySchema();
  await migratePostgres({ url: here.url, schema: here.schema });
  const store = postgresStore({ url: here.url, schema: here.schema, listen: false });
  await store.open({ domain: DOMAIN, clock: systemClock });
  await store.orders.insert(
    ORDERS.map((order, n) => ({
      order: n === 1 ? { ...order, quote: { body: '{"solver":"é"}', metadata: '{}' } } : order,
      ...(n === 0 ? { document: { hash: order.appData, document: DOCUMENT } } : {}),
    })),
  );
  const key = `decode('${CHANGED.slice(106)}${CHANGED.slice(2, 106)}', 'hex')`;
  if (change !== '') await here.query(`UPDATE ${here.schema}.orders SET ${change} WHERE key = ${key}`);
  const dispose = async () => {
    await store.close();
    await here[Symbol.asyncDispose]();
  };
  return { store, [Symbol.asyncDispose]: dispose };
}

const byUid = (orders: readonly StoredOrder[]) => new Map(orders.map((order) => [order.uid, order]));

describe.each([
  ['no change', '', true],
  ['a placement', `placement = '{"a":1}'`, true],
  ['totals', "version = 2, executed_sell_amount = 7, executed_fee_token = decode(repeat('ab', 20), 'hex')", true],
  ['a body without a checksum', 'checksum = NULL', true],
  ['another body of the same length', `body = replace(body, '"sellAmount":"4"', '"sellAmount":"5"')`, false],
  ['a longer body', `body = body || ' '`, false],
  ['a body with characters of several bytes', `body = replace(body, '"sellAmount":"4"', '"sellAmount":"é"')`, false],
  ['another checksum', 'checksum = checksum # 1', false],
  ['a broken body without a checksum', `checksum = NULL, body = '{}'`, false],
])('PostgreSQL rows of orders with %s', (_, change, isIntact) => {
  test('have the same values in a batch read, on their own and in a listing', async () => {
    await using fixture = await openOrders(change);
    const { orders } = fixture.store;
    const single = (await Promise.all(UIDS.map((uid) => orders.get([uid])))).flat();
    expect(byUid(await orders.get(UIDS))).toEqual(byUid(single));
    expect(byUid(await orders.list({ limit: 10, quotes: true }))).toEqual(byUid(single));
    expect(single.map(({ body }) => body)).toEqual(
      ORDERS.map(({ uid, body }) => (isIntact || uid !== CHANGED ? body : '')),
    );
    expect(single[0]?.fullAppData).toBe(DOCUMENT);
    expect(single[1]?.quote).toEqual({ body: '{"solver":"é"}', metadata: '{}' });
  });
});

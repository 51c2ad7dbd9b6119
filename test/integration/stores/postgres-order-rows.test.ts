import type { StoredOrder } from 'intentbook';
import { systemClock } from 'intentbook';
import { migratePostgres, postgresStore } from 'intentbook/postgres';
import { describe, expect, test } from 'vitest';
import { DOMAIN } from '../../conformance/harness.ts';
import { completeOrder } from '../../support/complete-orders.ts';
import { temporarySchema } from '../../support/postgres.ts';

const ORDERS = Array.from({ length: 5 }, (_, n) => completeOrder(n + 1));
const UIDS = ORDERS.map(({ uid }) => uid);
const DAMAGED = UIDS[2] ?? '0x';
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
  const key = `decode('${DAMAGED.slice(106)}${DAMAGED.slice(2, 106)}', 'hex')`;
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
  test('have the same values if they are read at once', async () => {
    await using fixture = await openOrders(change);
    const { orders } = fixture.store;
    const encoded = (await orders.getEncoded?.(UIDS)) ?? [];
    const single = (await Promise.all(UIDS.map((uid) => orders.get([uid])))).flat();
    expect(byUid(encoded.map(({ order }) => order))).toEqual(byUid(single));
    expect(byUid(await orders.list({ limit: 10, quotes: true }))).toEqual(byUid(single));
    expect(single.map(({ body }) => body)).toEqual(
      ORDERS.map(({ uid, body }) => (isIntact || uid !== DAMAGED ? body : '')),
    );
    expect(single[0]?.fullAppData).toBe(DOCUMENT);
    expect(single[1]?.quote).toEqual({ body: '{"solver":"é"}', metadata: '{}' });
    const decoder = new TextDecoder();
    for (const { order, encodedBody } of encoded) {
      if (encodedBody !== undefined) expect(decoder.decode(encodedBody)).toBe(order.body);
    }
  });
});

test('PostgreSQL reads bodies as bytes', async () => {
  await using fixture = await openOrders();
  const encoded = (await fixture.store.orders.getEncoded?.(UIDS)) ?? [];
  expect(encoded.map(({ encodedBody }) => encodedBody?.length).sort()).toEqual(
    ORDERS.map(({ body }) => body.length).sort(),
  );
});

test('PostgreSQL reads no rows at once', async () => {
  await using fixture = await openOrders();
  expect(await fixture.store.orders.getEncoded?.([`0x${'99'.repeat(56)}`])).toEqual([]);
});

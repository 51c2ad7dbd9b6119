import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { prepareAggregateQuery, prepareOrderByUid, prepareRowQuery } from '../../../adapters/sqlite/rows.ts';
import { FOUNDATION, MIGRATIONS } from '../../../adapters/sqlite/schema.ts';
import { openSession } from '../../../adapters/sqlite/session.ts';
import { completeOrder } from '../../support/complete-orders.ts';

const ORDERS = Array.from({ length: 5 }, (_, n) => completeOrder(n + 1));

/** Opens a database with five orders. Its tables accept values of other types, like those of a damaged file. */
function openOrders({ damage, where = '' }: { readonly damage?: string; readonly where?: string } = {}) {
  const database = new Database(':memory:');
  for (const migration of [FOUNDATION, ...MIGRATIONS]) {
    database.exec(migration('').replaceAll(/ STRICT| NOT NULL CHECK \(json_valid\(body\)\)/g, ''));
  }
  const insert = database.prepare(
    'INSERT INTO orders (uid, owner, sell_token, buy_token, created, valid_to, signing_scheme, state, quota_class, live, ' +
      'app_data, body, executed_sell_amount) VALUES (?, ?, ?, ?, ?, ?, 0, 0, 0, 1, ?, ?, ?)',
  );
  const bytes = (hex: string) => Buffer.from(hex.slice(2), 'hex');
  for (const [n, { uid, owner, sellToken, buyToken, creationDate, validTo, appData, body }] of ORDERS.entries()) {
    const terms = [bytes(uid), bytes(owner), bytes(sellToken), bytes(buyToken), creationDate, validTo, bytes(appData)];
    insert.run(...terms, body, String(n));
  }
  database.exec('INSERT INTO order_quotes SELECT id, \'{"solver":"é"}\', \'{}\' FROM orders WHERE id = 2');
  database
    .prepare('INSERT INTO documents (hash, document, referenced) VALUES (?, ?, 1)')
    .run(bytes(ORDERS[2]?.appData ?? ''), '{"a":"\u0000\\u0000€😀\n"}');
  if (damage !== undefined) database.exec(`UPDATE orders SET ${damage} WHERE id = 3`);
  const session = openSession({ database, prefix: '', own: true }, () => {});
  const from = `FROM orders o LEFT JOIN order_quotes q ON q.order_id = o.id ${where} ORDER BY o.id`;
  const [many, one] = [prepareAggregateQuery(session, from, true), prepareRowQuery(session, from, true)];
  return {
    many: () => many.all(),
    one: () => one.all(),
    find: prepareOrderByUid(session),
    [Symbol.dispose]: () => database.close(),
  };
}

test('SQLite reads many rows at once with the values of rows that are read one by one', () => {
  using orders = openOrders();
  const rows = orders.many();
  const decoder = new TextDecoder();
  for (const { order, encodedBody } of rows) expect(decoder.decode(encodedBody)).toBe(order.body);
  expect(rows.map(({ order }) => order)).toEqual(orders.one().map(({ order }) => order));
  expect(rows.map(({ order: { uid, body } }) => ({ uid, body }))).toEqual(
    ORDERS.map(({ uid, body }) => ({ uid, body })),
  );
});

test('SQLite reads an order by its UID with the values of a listing', () => {
  using orders = openOrders();
  const rows = orders.one();
  expect(rows.map(({ order }) => orders.find(order.uid))).toEqual(rows.map(({ order }) => order));
  expect(orders.find(`0x${'00'.repeat(56)}`)).toBeUndefined();
});

test('SQLite reads no rows at once', () => {
  using orders = openOrders({ where: 'WHERE o.id > 5' });
  expect(orders.many()).toEqual([]);
});

describe.each([
  ['an amount that is a blob', "executed_sell_amount = x'30'"],
  ['a body that is a blob', "body = x'7b'"],
  ['a body that is null', 'body = NULL'],
  ['a body with a null character', "body = 'a' || char(0) || 'b'"],
  ['a body that is a number', 'body = 17.5'],
  ['a body with another length', "body = body || 'é'"],
  ['a checksum that is text', "checksum = 'x'"],
  ['a version that is infinite', 'version = 9e999'],
])('damaged row with %s', (_, damage) => {
  test('does not change the other rows of a read', () => {
    using orders = openOrders({ damage });
    const rows = orders.many();
    const sound = ORDERS.filter((__, n) => n !== 2);
    const found = rows.map(({ order }) => order).filter(({ uid }) => uid !== ORDERS[2]?.uid);
    expect(found.map(({ uid, body }) => ({ uid, body }))).toEqual(sound.map(({ uid, body }) => ({ uid, body })));
    expect(rows).toHaveLength(ORDERS.length);
  });
});

import Database from 'better-sqlite3';
import { createApi, createOrderBook } from 'intentbook';
import { sqliteStore } from 'intentbook/sqlite';
import { describe, expect, test } from 'vitest';
import { DOMAIN } from '../../conformance/harness.ts';
import { NOW, place } from '../../conformance/orders.ts';
import { manualClock } from '../../support/clock.ts';
import { completeOrder } from '../../support/complete-orders.ts';
import { directFixture } from '../http/http-fixture.ts';
import { temporaryFile } from './temporary.ts';

const SOUND = completeOrder(1);
const DAMAGED = completeOrder(2);
const OTHER = completeOrder(3);

/** Changes of the row of the damaged order. `b` and `o` are its body and the body of another order. */
const DAMAGE: readonly (readonly [what: string, sql: string, parameters?: readonly unknown[]])[] = [
  ['a body that is not JSON', 'body = ?', [`${DAMAGED.body.slice(0, 300)}"broken${DAMAGED.body.slice(300)}`]],
  ['a body that is cut off', 'body = ?', [DAMAGED.body.slice(0, 400)]],
  ['a body with trailing text', 'body = ?', [`${DAMAGED.body},{}}`]],
  ['a body with another amount', 'body = ?', [DAMAGED.body.replace('"sellAmount":"3"', '"sellAmount":"4"')]],
  ['an empty body', "body = ''"],
  [
    'a broken body of an earlier schema version',
    'checksum = NULL, body = ?',
    [DAMAGED.body.replace('"kind":"sell"', '"kind":"sell')],
  ],
  [
    'the body of another owner without a checksum',
    'checksum = NULL, body = ?',
    [DAMAGED.body.replace(`"owner":"${DAMAGED.owner}"`, `"owner":"0x${'77'.repeat(20)}"`)],
  ],
  ['a wrong checksum', 'checksum = 1'],
  ['the body of another order', 'body = ?', [OTHER.body]],
  [
    'a body with the UID of this order and the owner of another',
    'body = ?',
    [DAMAGED.body.replace(`"owner":"${DAMAGED.owner}"`, `"owner":"0x${'77'.repeat(20)}"`)],
  ],
  [
    'an amount in the body that is no number',
    'body = ?',
    [DAMAGED.body.replace('"sellAmount":"3"', '"sellAmount":"x"')],
  ],
  ['a kind that does not exist', 'body = ?', [DAMAGED.body.replace('"kind":"sell"', '"kind":"swap"')]],
  ['a validity that is not that of the UID', 'valid_to = valid_to + 1'],
  ['a negative version', 'version = -1'],
  ['an invalidation that is neither true nor false', 'invalidated = 5'],
  ['an executed sell amount with a quote', `executed_sell_amount = '1"'`],
  ['an executed buy amount that is empty', "executed_buy_amount = ''"],
  ['an executed signed fee that is no number', "executed_fee_amount = 'fee'"],
  ['an executed fee that is negative', "executed_fee = '-1'"],
  ['a fee token that is too short', "executed_fee_token = x'01'"],
  ['a placement that is not JSON', 'placement = \'{"onchainUser":\''],
  ['a placement that is no object', "placement = '[1]'"],
];

/** A book on a file with two sound orders and one whose row was changed. */
async function damagedBook(sql: string, parameters: readonly unknown[]) {
  const file = temporaryFile();
  const { path } = file;
  const clock = manualClock(NOW * 1000);
  const store = sqliteStore({ path });
  await store.open({ domain: DOMAIN, clock });
  await place(store, SOUND, DAMAGED, OTHER);
  await store.close();
  const database = new Database(path);
  database.pragma('ignore_check_constraints = ON');
  const uid = Buffer.from(DAMAGED.uid.slice(2), 'hex');
  expect(database.prepare(`UPDATE orders SET ${sql} WHERE uid = ?`).run(...parameters, uid).changes).toBe(1);
  database.close();
  const book = createOrderBook({ ...DOMAIN, store: sqliteStore({ path }), clock, expiryInterval: 'off' });
  const failures: unknown[] = [];
  book.on('failure', (failure) => failures.push(failure));
  await book.start();
  const http = directFixture(createApi(book), () => NOW);
  const dispose = async () => {
    await book.close();
    file[Symbol.dispose]();
  };
  return { http, failures, book, [Symbol.asyncDispose]: dispose };
}

describe.each(DAMAGE.map(([what, sql, parameters = []]) => ({ what, sql, parameters })))(
  'row with $what',
  ({ sql, parameters }) => {
    test('is an error element of by_uids, a 500 on its own, and does not affect other orders', async () => {
      await using fixture = await damagedBook(sql, parameters);
      const { http, failures } = fixture;
      for (let i = 0; i < 2; i++) {
        const body = [SOUND.uid, DAMAGED.uid, OTHER.uid];
        const answer = await http.send('POST', '/api/v1/orders/by_uids', { body });
        expect(answer.status).toBe(200);
        const elements = answer.json() as { order?: { uid: string }; error?: { uid: string; description: string } }[];
        expect(elements.flatMap(({ order }) => order?.uid ?? []).sort()).toEqual([SOUND.uid, OTHER.uid].sort());
        expect(elements.flatMap(({ error }) => error ?? [])).toEqual([
          { uid: DAMAGED.uid, description: 'the order is stored, but cannot be read' },
        ]);
      }
      const single = await http.send('GET', `/api/v1/orders/${DAMAGED.uid}`);
      expect([single.status, single.json()]).toEqual([500, { errorType: 'InternalServerError', description: '' }]);
      expect((await http.send('GET', `/api/v1/orders/${SOUND.uid}`)).status).toBe(200);
      const listed = (await http.send('GET', '/api/v1/orders')).json() as { uid: string }[];
      expect(listed.map(({ uid }) => uid).sort()).toEqual([SOUND.uid, OTHER.uid].sort());
      expect(failures.map(String).filter((text) => text.includes(DAMAGED.uid)).length).toBeGreaterThanOrEqual(3);
    });
  },
);

test('row that was not changed is sound', async () => {
  await using fixture = await damagedBook('version = version', []);
  const uids = [SOUND, DAMAGED, OTHER].map(({ uid }) => uid);
  expect((await fixture.book.orders.getMany(uids)).map(({ order }) => order?.uid).sort()).toEqual([...uids].sort());
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limitOrder } from 'intentbook/sign';
import { createService } from './app.js';

const databaseUrl = process.env.DATABASE_URL;

const order = {
  ...limitOrder({
    sellToken: '0xfff9976782d46cc05630d1f6ebab18b2324d6b14',
    buyToken: '0x0625afb445c3b6b7b929342a04a22599fd5dbb59',
    sellAmount: 10n ** 18n,
    buyAmount: 9000n * 10n ** 18n,
    validTo: Math.floor(Date.now() / 1000) + 1200,
  }),
  from: '0x00000000000000000000000000000000000a11ce',
  signingScheme: 'presign',
  signature: '0x',
};

test('order and invoice are stored together or not at all', {
  skip: !databaseUrl && 'needs DATABASE_URL',
}, async () => {
  const { app, book, pool } = await createService({ databaseUrl, schema: 'example', keys: { secret: 'customer' } });
  const headers = { authorization: 'Bearer secret' };
  const post = (payload) => app.inject({ method: 'POST', url: '/invoices', headers, payload });

  const read = (key) => app.inject({ url: '/sepolia/api/v1/version', headers: { authorization: `Bearer ${key}` } });
  assert.equal((await app.inject('/sepolia/api/v1/version')).statusCode, 401);
  for (const key of ['wrong', 'constructor', '__proto__']) assert.equal((await read(key)).statusCode, 401);
  assert.equal((await read('secret')).statusCode, 200);
  const { uid } = (await post({ invoice: 'A1', order })).json();
  assert.equal((await book.orders.get(uid)).status, 'presignaturePending');

  // The invoice exists, so neither it nor the second order is stored.
  const second = await post({ invoice: 'A1', order: { ...order, sellAmount: '5' } });
  assert.equal(second.statusCode, 500);
  assert.equal((await book.orders.list()).orders.length, 1);
  const { rows } = await pool.query('SELECT * FROM invoices');
  assert.deepEqual(rows, [{ id: 'A1', customer: 'customer', order_uid: uid }]);
  await app.close();
});

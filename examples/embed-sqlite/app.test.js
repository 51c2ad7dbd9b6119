import assert from 'node:assert/strict';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openBook, submitOrder } from './app.js';

test('an order is read after the book is opened again', async () => {
  const path = join(await mkdtemp(join(tmpdir(), 'embed-')), 'orders.sqlite');
  const first = await openBook(path);
  const uid = await submitOrder(first);
  await first.close();
  const second = await openBook(path);
  assert.equal((await second.orders.get(uid)).status, 'presignaturePending');
  await second.close();
});

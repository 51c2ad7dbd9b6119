import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createApp } from './app.js';

test('the book responds, and an open stream does not delay the stop', async () => {
  const app = await createApp();
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  assert.match(await (await fetch(`${url}/sepolia/api/v1/version`)).text(), /11155111/);
  const stream = await fetch(`${url}/sepolia/api/v1/orders/stream`);
  const reading = stream.text();
  await app.close();
  await reading; // the stream has ended
});

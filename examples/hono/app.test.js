import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createApp } from './app.js';

test('the book and the routes of the application respond', async () => {
  const { app, book } = await createApp();
  assert.deepEqual(await (await app.request('/health')).json(), { healthy: true });
  assert.match(await (await app.request('/sepolia/api/v1/version')).text(), /11155111/);
  await book.close();
});

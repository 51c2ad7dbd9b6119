import assert from 'node:assert/strict';
import { test } from 'node:test';
import { start } from './app.js';

test('the book and the routes of the application respond, and an open stream does not delay the stop', async () => {
  const { server, stop } = await start(0);
  const url = `http://127.0.0.1:${server.address().port}`;
  assert.deepEqual(await (await fetch(`${url}/health`)).json(), { healthy: true });
  assert.match(await (await fetch(`${url}/sepolia/api/v1/version`)).text(), /11155111/);
  const stream = await fetch(`${url}/sepolia/api/v1/orders/stream`);
  const reading = stream.text();
  await stop();
  await reading; // the stream has ended
});

test('the start fails if the port is in use', async () => {
  const { server, stop } = await start(0);
  await assert.rejects(start(server.address().port), { code: 'EADDRINUSE' });
  await stop();
});

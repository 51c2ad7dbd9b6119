import assert from 'node:assert/strict';
import { start } from './app.js';

Deno.test('the book responds', async () => {
  const { server, stop } = await start(0);
  const response = await fetch(`http://127.0.0.1:${server.addr.port}/api/v1/version`);
  assert.match(await response.text(), /11155111/);
  await stop();
});

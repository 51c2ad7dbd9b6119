import { expect, test } from 'bun:test';
import { start } from './app.js';

test('the book responds', async () => {
  const { server, stop } = await start(0);
  const response = await fetch(new URL('api/v1/version', server.url));
  expect(await response.text()).toContain('11155111');
  await stop();
});

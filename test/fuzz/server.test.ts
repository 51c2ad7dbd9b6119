import { expect, test } from 'vitest';
import { besiege } from './server-under-attack.ts';

/** Connections that the health checks of the test may keep open. */
const KEPT = 4;

test('no attack crashes the server, makes it fail or leaks resources of closed connections', async () => {
  const { files, memory } = await besiege(6000, 1);
  if (files === undefined || memory === undefined) return;
  expect(files[1]).toBeLessThanOrEqual(files[0] + KEPT);
  expect(memory[1]).toBeLessThan(memory[0] + 200);
});

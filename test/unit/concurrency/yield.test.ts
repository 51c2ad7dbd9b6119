import { expect, test, vi } from 'vitest';
import { yieldToEventLoop } from '../../../src/ports/clock.ts';

test('yieldToEventLoop lets other tasks run', async () => {
  let others = 0;
  let running = true;
  const other = () => {
    others++;
    if (running) setImmediate(other);
  };
  setImmediate(other);
  for (let i = 0; i < 100; i++) await yieldToEventLoop();
  running = false;
  expect(others).toBeGreaterThanOrEqual(99);
});

test('yieldToEventLoop without setImmediate resolves asynchronously and in order', async () => {
  vi.stubGlobal('setImmediate', undefined);
  vi.resetModules();
  const { yieldToEventLoop } = await import('../../../src/ports/clock.ts');
  vi.unstubAllGlobals();
  const order: string[] = [];
  const turns = ['first', 'second'].map((name) => yieldToEventLoop().then(() => void order.push(name)));
  for (let i = 0; i < 20; i++) await Promise.resolve();
  expect(order).toEqual([]);
  await Promise.all(turns);
  expect(order).toEqual(['first', 'second']);
});

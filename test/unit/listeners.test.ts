import { expect, test } from 'vitest';
import { createFailureReporter } from '../../src/listeners.ts';

test('failure reporter drops errors of its handler, also those of a promise', async () => {
  const received: unknown[] = [];
  createFailureReporter(undefined)('dropped');
  createFailureReporter((failure) => {
    received.push(failure);
    throw new Error('the handler is broken');
  })('first');
  createFailureReporter(async (failure) => {
    received.push(failure);
    throw new Error('its promise is rejected');
  })('second');
  await new Promise((resolve) => setImmediate(resolve)); // an unhandled rejection would fail the run
  expect(received).toEqual(['first', 'second']);
});

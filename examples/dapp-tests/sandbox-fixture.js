import { createSandbox } from 'intentbook/sandbox';
import { test as base } from 'vitest';

/** The fixture for Vitest: one sandbox per test file. */
// biome-ignore lint/correctness/noEmptyPattern: Vitest reads the names of the required fixtures.
export const test = base.extend('sandbox', { scope: 'file' }, async ({}, { onCleanup }) => {
  const sandbox = await createSandbox({ chain: 'simulated' });
  onCleanup(() => sandbox.close());
  return sandbox;
});

import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { instrumentation } from '../../fuzz/instrument.ts';

export default defineConfig({
  root: fileURLToPath(new URL('../../..', import.meta.url)),
  resolve: {
    tsconfigPaths: true,
    // Subpath imports of package.json would load the built file.
    alias: { '#internal': fileURLToPath(new URL('../../../src/internal.ts', import.meta.url)) },
  },
  // Only code under exploration must count its branches.
  plugins: process.env['TEST_LONG_SUITE'] === 'fuzz' ? [instrumentation()] : [],
  test: {
    include: ['test/resilience/long/run-suite.ts'],
    globalSetup: ['test/support/postgres-once.ts'],
    retry: 0,
    // The runner kills a suite that does not end.
    testTimeout: 0,
    hookTimeout: 0,
  },
});

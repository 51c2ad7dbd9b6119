import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  // The same table that the compiler reads, so that tests run on the sources without a build.
  resolve: {
    tsconfigPaths: true,
    // Subpath imports of package.json would load the built file.
    alias: { '#internal': fileURLToPath(new URL('../src/internal.ts', import.meta.url)) },
  },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/postgres-once.ts'],
    retry: 0,
    // For what hangs only: a machine that is busy with other things may take its time, and so does a test at its full length.
    testTimeout: process.env['INTENTBOOK_TEST_LONG'] === undefined ? 300_000 : 3_600_000,
    hookTimeout: 300_000,
  },
});

import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { SUITE_FAULTS } from './simulation/planted/planted-suites.ts';

/** `npm run test:all` runs the files with volume, and so does a command that names one. */
const isMatrix =
  process.env['TEST_MATRIX'] !== undefined || process.argv.some((argument) => argument.includes('.matrix'));

/**
 * Folders whose files share the modules of a worker. To load the modules for each file again takes two thirds of the
 * time of a unit test.
 */
const SHARED = 'unit|integration|property|security';

/** Files that measure the memory of their process. */
const MEASURING = ['unit/limits/token-buckets', 'unit/streams/many', 'integration/bench/counters'].map(
  (name) => `test/${name}.test.ts`,
);

const FILES = '**/!(*.matrix).test.ts';

/** A fault that is put into one file in memory. */
const fault = SUITE_FAULTS.find(({ name }) => name === process.env['TEST_PLANTED_FAULT']);

export default defineConfig({
  plugins:
    fault === undefined
      ? []
      : [
          {
            name: 'plant',
            enforce: 'pre',
            transform: (code, id) =>
              id.endsWith(`/${fault.file}`) ? code.replace(fault.find, () => fault.replace) : undefined,
          },
        ],
  root: fileURLToPath(new URL('..', import.meta.url)),
  // The same paths as the compiler, so that tests run on the sources without a build.
  resolve: {
    tsconfigPaths: true,
    // Subpath imports of package.json would load the built file.
    alias: { '#internal': fileURLToPath(new URL('../src/internal.ts', import.meta.url)) },
  },
  test: {
    projects: isMatrix
      ? [{ extends: true, test: { name: 'matrix', include: ['test/**/*.matrix.test.ts'] } }]
      : [
          {
            extends: true,
            test: { name: 'shared', include: [`test/@(${SHARED})/${FILES}`], exclude: MEASURING, isolate: false },
          },
          { extends: true, test: { name: 'isolated', include: [`test/!(${SHARED})/${FILES}`, ...MEASURING] } },
        ],
    globalSetup: ['test/support/postgres-once.ts'],
    retry: 0,
    // Many tests wait for processes, so two files at once are faster than one even on one core.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // Only for hanging tests: a busy machine is slow, and so are tests at their full length.
    testTimeout: process.env['TEST_LONG'] === undefined ? 300_000 : 3_600_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
  },
});

import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { SUITE_FAULTS } from './simulation/planted/planted-suites.ts';

/** `npm run test:all` runs the files with volume, and so does a command that names one. */
const isMatrix =
  process.env['TEST_MATRIX'] !== undefined || process.argv.some((argument) => argument.includes('.matrix'));

/**
 * Folders whose files share the modules of a worker. To load the modules for each file again takes two thirds of their
 * time.
 */
const SHARED = 'test/{unit,property,security,integration}';

const getFiles = (folder: string) => [`${folder}/**/${isMatrix ? '*.matrix' : '!(*.matrix)'}.test.ts`];

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
    projects: [
      { extends: true, test: { name: 'shared', include: getFiles(SHARED), isolate: false } },
      { extends: true, test: { name: 'isolated', include: getFiles('test'), exclude: [`${SHARED}/**`] } },
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

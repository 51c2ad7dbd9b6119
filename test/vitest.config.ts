import { existsSync } from 'node:fs';
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

/** Files that `npm test` leaves to `npm test -- --slow`. The quick files have a part of each kind. */
const SLOW = [
  'fuzz/instrument',
  'fuzz/server',
  'integration/bench/counters',
  'integration/chain/accounts',
  'integration/chain/reorganisations',
  'integration/chain/settlement',
  'integration/channels/channel-calls',
  'integration/channels/message-rows',
  'integration/channels/recovery',
  'integration/client/mirror',
  'integration/clients/settlement',
  'integration/demo/demo',
  'integration/explorer/accounts',
  'integration/explorer/explorer',
  'integration/explorer/market',
  'integration/explorer/pages',
  'integration/http/mount-rules',
  'integration/http/mounts',
  'integration/http/openapi',
  'integration/nats/crashes',
  'integration/sandbox/controls',
  'integration/sandbox/error-codes',
  'integration/sandbox/explorer-live',
  'integration/sandbox/flash-loan',
  'integration/sandbox/front-ends',
  'integration/sandbox/solver',
  'integration/server/accounts-postgres',
  'integration/server/api-keys',
  'integration/server/audit',
  'integration/server/chain',
  'integration/server/cluster',
  'integration/server/commands',
  'integration/server/config',
  'integration/server/export-resume',
  'integration/server/init-check',
  'integration/server/interactive',
  'integration/server/lost-store',
  'integration/server/observability',
  'integration/server/package-files',
  'integration/server/restore-check',
  'integration/server/rollback',
  'integration/server/serve',
  'integration/server/sync',
  'integration/server/table-export',
  'integration/server/upstream',
  'integration/stores/delivery-claims',
  'integration/stores/postgres',
  'integration/stores/postgres-accounts',
  'integration/stores/postgres-address',
  'integration/stores/postgres-blocks',
  'integration/stores/postgres-connections',
  'integration/stores/postgres-drift',
  'integration/stores/postgres-duties',
  'integration/stores/postgres-faults',
  'integration/stores/postgres-log',
  'integration/stores/postgres-notifications',
  'integration/stores/postgres-pool',
  'integration/stores/postgres-pooler',
  'integration/stores/postgres-replica',
  'integration/stores/postgres-schema',
  'integration/stores/postgres-settings',
  'integration/stores/postgres-standby',
  'integration/stores/second-read',
  'integration/stores/sqlite-thread',
  'integration/upstream/address',
  'integration/upstream/bad-proxy',
  'integration/upstream/disputes',
  'integration/upstream/follow',
  'integration/upstream/hostile',
  'integration/upstream/measures',
  'integration/upstream/on-chain',
  'integration/upstream/processes',
  'integration/upstream/relay',
  'package/allocations',
  'package/create',
  'package/docs-snippets',
  'package/functions',
  'package/packed',
  'package/quick-start',
  'package/shutdown',
  'property/admission',
  'property/histories',
  'resilience/faults/storage',
  'resilience/histories/histories',
  'unit/crypto/backends',
].map((name) => `test/${name}.test.ts`);

const missing = SLOW.find((file) => !existsSync(new URL(`../${file}`, import.meta.url)));
if (missing !== undefined) throw new Error(`${missing} does not exist`);

const left = process.env['TEST_QUICK'] === undefined ? [] : SLOW;

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
            test: {
              name: 'shared',
              include: [`test/@(${SHARED})/${FILES}`],
              exclude: [...MEASURING, ...left],
              isolate: false,
            },
          },
          {
            extends: true,
            test: { name: 'isolated', include: [`test/!(${SHARED})/${FILES}`, ...MEASURING], exclude: left },
          },
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

import { cp, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { defineConfig } from 'tsup';
import { writeDeclarations } from './scripts/declarations.ts';
import { reduceToLines } from './scripts/line-maps.ts';

/** Entries whose declarations are not public. */
const PROGRAMS = ['cli', 'recovery-worker', 'sqlite-worker'];

const ENTRIES = {
  index: 'src/index.ts',
  internal: 'src/internal.ts',
  accounts: 'src/entries/accounts.ts',
  'chain-events': 'src/entries/chain-events.ts',
  'store-kit': 'src/store-kit/index.ts',
  openapi: 'src/http/openapi/index.ts',
  memory: 'adapters/memory/index.ts',
  sqlite: 'adapters/sqlite/index.ts',
  'sqlite-worker': 'adapters/sqlite/sqlite-worker.ts',
  postgres: 'adapters/postgres/index.ts',
  'node-http': 'adapters/node-http/index.ts',
  express: 'adapters/express/index.ts',
  fastify: 'adapters/fastify/index.ts',
  fetch: 'adapters/fetch/index.ts',
  channels: 'adapters/channels/index.ts',
  estimators: 'adapters/estimators/index.ts',
  drivers: 'adapters/drivers/index.ts',
  upstream: 'adapters/upstream/index.ts',
  prices: 'adapters/prices/index.ts',
  ipfs: 'adapters/ipfs/index.ts',
  simulators: 'adapters/simulators/index.ts',
  native: 'adapters/native/index.ts',
  nats: 'adapters/nats/index.ts',
  workers: 'adapters/workers/index.ts',
  'recovery-worker': 'adapters/workers/recovery-worker.ts',
  viem: 'adapters/viem/index.ts',
  sandbox: 'apps/sandbox/index.ts',
  sign: 'adapters/sign/index.ts',
  client: 'adapters/client/index.ts',
  solver: 'apps/solver/index.ts',
  server: 'apps/server/index.ts',
  cli: 'apps/cli/start.ts',
  prometheus: 'adapters/prometheus/index.ts',
  otel: 'adapters/otel/index.ts',
  diagnostics: 'adapters/diagnostics/index.ts',
  'explorer/index': 'apps/explorer/index.ts',
  testing: 'test/conformance/index.ts',
};

export default defineConfig({
  entry: ENTRIES,
  format: ['esm'],
  target: 'node20',
  platform: 'node',
  splitting: true,
  treeshake: true,
  sourcemap: true,
  esbuildOptions(options) {
    options.sourcesContent = false; // the maps give files and lines of the repository
  },
  clean: true,
  async onSuccess() {
    const { configSchema } = await import(pathToFileURL(resolve('dist/server.js')).href);
    await writeFile('dist/config.schema.json', `${JSON.stringify(configSchema(), undefined, 2)}\n`);
    await cp('node_modules/zod/LICENSE', 'dist/LICENSE.zod');
    await cp('apps/explorer/page', 'dist/explorer/page', { recursive: true });
    await reduceToLines('dist');
    if (process.argv.includes('--no-dts')) return;
    const typed = Object.entries(ENTRIES).filter(([name]) => !PROGRAMS.includes(name));
    await writeDeclarations(Object.fromEntries(typed));
  },
  // The entry of this library loads its texts in all languages, which takes longer than the first submission.
  noExternal: ['zod/mini'],
  // Adapters and programs reach the core by its public name, so that one copy of it exists in a process.
  external: [/^intentbook(\/|$)/, '#internal'],
});

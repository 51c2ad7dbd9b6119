import { defineConfig } from 'tsup';

// Benchmarks run as a user's program does: as JavaScript, and with the built package.
export default defineConfig({
  entry: ['bench/run.ts', 'bench/worker.ts', 'bench/load.ts', 'bench/benchmarks/*.ts'],
  outDir: 'bench/built',
  format: ['esm'],
  target: 'node20',
  platform: 'node',
  clean: true,
  // A separate configuration without the path aliases of the root, which refer to the sources.
  tsconfig: 'bench/tsconfig.json',
  skipNodeModulesBundle: true,
  external: [/^intentbook(\/|$)/],
});

import { defineConfig } from 'tsup';

// Trials run as a user's program would: on plain JavaScript, and on the package as it is built.
export default defineConfig({
  entry: ['bench/run.ts', 'bench/worker.ts', 'bench/load.ts', 'bench/benchmarks/*.ts'],
  outDir: 'bench/built',
  format: ['esm'],
  target: 'node20',
  platform: 'node',
  clean: true,
  // Without the root's paths: they lead to the sources.
  tsconfig: 'bench/tsconfig.json',
  skipNodeModulesBundle: true,
  external: [/^intentbook(\/|$)/],
});

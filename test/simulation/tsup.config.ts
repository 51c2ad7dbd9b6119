import { defineConfig } from 'tsup';

// Simulations run as a user's program does: as JavaScript, and with the built package.
export default defineConfig({
  entry: ['test/simulation/index.ts'],
  outDir: 'test/simulation/built',
  format: ['esm'],
  target: 'node20',
  platform: 'node',
  clean: true,
  tsconfig: 'bench/tsconfig.json',
  skipNodeModulesBundle: true,
  external: [/^intentbook(\/|$)/, '#internal'],
});

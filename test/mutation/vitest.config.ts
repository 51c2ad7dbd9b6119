import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** A law that fails, fails soon: hundreds of cases for each mutant would only cost time. */
const MOST_RUNS = 40;

/** The quick tests, of pure functions and of a book on the memory store: what mutants are run against. */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  resolve: { tsconfigPaths: true },
  plugins: [
    {
      name: 'fewer-runs',
      transform: (code, id) =>
        id.endsWith('.test.ts')
          ? code.replace(/numRuns: ([\w.]+)/g, `numRuns: Math.min($1, ${MOST_RUNS})`)
          : undefined,
    },
  ],
  test: {
    include: [
      'test/unit/protocol/**/*.test.ts',
      'test/unit/orders/**/*.test.ts',
      'test/unit/engine.test.ts',
      'test/unit/errors.test.ts',
      'test/admission/**/*.test.ts',
    ],
    // Drivers and encoders are loaded once, not for each mutant.
    isolate: false,
    testTimeout: 60_000,
  },
});

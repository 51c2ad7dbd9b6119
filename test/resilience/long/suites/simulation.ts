import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { LongSuite } from '../suite.ts';

const run = promisify(execFile);
const RUNNER = fileURLToPath(new URL('../../../simulation/run.mjs', import.meta.url));

/** Seeds of each storage between two looks at the clock. A seed of PostgreSQL takes seconds. */
const ROUND = { memory: 60, shared: 60, sqlite: 20, handle: 20, pglite: 4, postgres: 4 } as const;

export const suite: LongSuite = {
  description: 'simulated books, clients and chains keep all invariants',
  async run({ milliseconds, seed, count }) {
    const end = performance.now() + milliseconds;
    for (let from = seed; performance.now() < end; from += 100) {
      for (const [store, seeds] of Object.entries(ROUND)) {
        const flags = ['--store', store, '--from', String(from), '--seeds', String(seeds)];
        if (store === 'pglite') flags.push('--short');
        // A finding ends the process with an error, and its output has the command that replays it.
        const { stdout } = await run(process.execPath, [RUNNER, ...flags], { maxBuffer: 2 ** 26 });
        count(`seeds of ${store}`, seeds);
        const operations = /operations ([\d,]+)/.exec(stdout)?.[1] ?? '0';
        count('operations', Number(operations.replaceAll(',', '')));
      }
    }
  },
};

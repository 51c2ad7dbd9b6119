import { execFile, execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { PLANTED } from './planted/planted.ts';
import { getKnownSeed } from './planted/planted-table.ts';
import { findPlanted } from './planted/run-planted.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const RUNNER = fileURLToPath(new URL('run.mjs', import.meta.url));
/** Further versions of Node.js whose traces are compared. */
const NODES = (process.env['TEST_NODES'] ?? '').split(',').filter((path) => path !== '');

/** `npm test` runs a seed of the first storages, and `npm test -- --slow` all tests. */
const isQuick = process.env['TEST_QUICK'] !== undefined;

/** Seeds of each storage. */
const SEEDS = {
  memory: 5,
  sqlite: 1,
  auctions: 5,
  accounts: 5,
  shared: 5,
  handle: 1,
  upstream: 5,
  fairness: 1,
  receivers: 1,
} as const;

const STORAGES = Object.entries(SEEDS).slice(0, isQuick ? 4 : undefined);

async function simulate(flags: readonly string[], node = process.execPath): Promise<string> {
  return (await run(node, [RUNNER, ...flags], { maxBuffer: 2 ** 26 })).stdout;
}

const hashesOf = (output: string) => [...output.matchAll(/trace ([0-9a-f]{16})/g)].map(([, hash]) => hash);

// Simulations use the built package, which `npm test` builds before.
beforeAll(() => {
  execFileSync('npx', ['tsup', '--silent', '--config', 'test/simulation/tsup.config.ts'], { cwd: ROOT });
});

describe('simulation', () => {
  test.each(STORAGES)('of the storage %s has no finding, and one trace per seed', async (store, all) => {
    const seeds = isQuick ? 1 : all;
    const output = await simulate(['--store', store, '--seeds', String(seeds), '--jobs', '1', '--hashes']);
    expect(output).toContain(`${store}: ${seeds} of ${seeds} seeds, 0 with a finding`);
    const hashes = hashesOf(output);
    expect(new Set(hashes).size).toBe(seeds);
    // The code of sqlite and handle differs from that of the others in the store only.
    if (seeds === 1) return;
    // This process runs no other seed before.
    const alone = await simulate(['--store', store, '--seed', String(seeds), '--trace']);
    expect(hashesOf(alone)).toEqual(hashes.slice(-1));
    // Other worlds have short traces.
    expect(alone.split('\n').length).toBeGreaterThan(store === 'memory' || store === 'shared' ? 500 : 10);
  });

  test.skipIf(isQuick)('of the storage pglite has no finding', async () => {
    const output = await simulate(['--store', 'pglite', '--from', '2', '--seeds', '1', '--jobs', '1', '--short']);
    expect(output).toContain('pglite: 1 of 1 seeds, 0 with a finding');
  });

  test.skipIf(NODES.length === 0).each(NODES)('has the same traces on %s', async (node) => {
    for (const store of ['memory', 'shared']) {
      const flags = ['--store', store, '--seeds', '5', '--jobs', '1', '--hashes'];
      expect(hashesOf(await simulate(flags, node))).toEqual(hashesOf(await simulate(flags)));
    }
  });
});

describe.skipIf(isQuick)('simulation with a planted fault', () => {
  const quick = PLANTED.filter(({ isQuick }) => isQuick === true);

  test.each(quick.map((fault) => [fault.name, fault] as const))('notices that %s', async (_, fault) => {
    expect((await findPlanted(fault, 60, getKnownSeed(fault))).seed).toBeDefined();
  });

  test('is shrunk to a few actions that replay the violation', async () => {
    const fault = PLANTED.find(({ name }) => name === 'an amount of zero is accepted');
    if (fault === undefined) throw new Error('the fault is not listed');
    const { seed = 0, invariant, simulation } = await findPlanted(fault, 5);
    const shrunk = await simulation.shrink({ seed, store: fault.store });
    expect(shrunk?.only.length).toBeLessThanOrEqual(3);
    expect(shrunk?.result.violation?.invariant).toBe(invariant);
    const again = await simulation.simulate({ seed, store: fault.store, only: shrunk?.only ?? [] });
    expect(again.hash).toBe(shrunk?.result.hash);
  });
});

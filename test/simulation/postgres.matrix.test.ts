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

beforeAll(() => {
  execFileSync('npx', ['tsup', '--silent', '--config', 'test/simulation/tsup.config.ts'], { cwd: ROOT });
});

describe('transactions of the application on PostgreSQL', { timeout: 600_000 }, () => {
  test('keep all invariants of the simulation, with one trace per seed', async () => {
    const flags = ['--store', 'postgres', '--from', '1', '--seeds', '3', '--jobs', '1', '--short', '--hashes'];
    const { stdout } = await run(process.execPath, [RUNNER, ...flags], { maxBuffer: 2 ** 26 });
    expect(stdout).toContain('postgres: 3 of 3 seeds, 0 with a finding');
    const alone = await run(process.execPath, [RUNNER, '--store', 'postgres', '--seed', '3', '--short']);
    expect(stdout).toContain(/trace [0-9a-f]{16}/.exec(alone.stdout)?.[0]);
  });

  const planted = PLANTED.filter(({ store }) => store === 'postgres');
  test.each(planted.map((fault) => [fault.name, fault] as const))('reveal that %s', async (_, fault) => {
    expect((await findPlanted(fault, 6, getKnownSeed(fault))).seed).toBeDefined();
  });
});

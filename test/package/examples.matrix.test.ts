import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { postgresUrl } from '../support/postgres.ts';
import { copyExample } from './examples.ts';
import type { Host } from './host.ts';
import { unpackHost } from './host.ts';

const ROOT = fileURLToPath(new URL('../../examples', import.meta.url));
const NAMES = readdirSync(ROOT).filter((name) => existsSync(join(ROOT, name, 'package.json')));

/** Examples whose packages are not development dependencies. The long run installs them. */
const INSTALLED_IN_LONG_RUN = ['bun', 'deno', 'hono', 'nestjs', 'nextjs'];

/** Packages that the examples use, besides the dependencies of the package. */
const PACKAGES = ['better-sqlite3', 'express', 'fastify', 'pg', 'viem', 'vitest'];

const LONG = process.env['TEST_LONG'] !== undefined;

/** Number of passed tests that node:test reports. */
const passed = (output: string) => Number(/^# pass (\d+)$/m.exec(output)?.[1] ?? 0);

const tarballIn = (folder: string) => readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '';

describe('examples, from the packed package', () => {
  let host: Host;
  beforeAll(() => {
    host = unpackHost(PACKAGES);
  });
  afterAll(() => host[Symbol.dispose]());

  it.each(NAMES.filter((name) => !INSTALLED_IN_LONG_RUN.includes(name)))('%s: passes its tests', async (name) => {
    const cwd = copyExample(host, name);
    const env: NodeJS.ProcessEnv = { ...process.env, NODE_OPTIONS: '' };
    if (name === 'fastify-postgres') env['DATABASE_URL'] = await postgresUrl();
    const run = spawnSync(process.execPath, ['--test', '--test-reporter=tap'], { cwd, env, encoding: 'utf8' });
    expect([run.status, run.status === 0 ? '' : run.stdout + run.stderr]).toEqual([0, '']);
    expect(passed(run.stdout)).toBeGreaterThan(0);
    expect(run.stdout).toMatch(/^# fail 0$/m);
  });

  it.each(['custom-estimator', 'embed-sqlite'])('%s: runs below a symbolic link', (name) => {
    const link = join(host.folder, `${name}-link`);
    symlinkSync(copyExample(host, name), link);
    const output = execFileSync(process.execPath, [join(link, 'app.js')], { cwd: link, encoding: 'utf8' });
    expect(output).not.toBe('');
  });

  it('dapp-tests: passes its tests in Vitest, with a fixture of at most 8 lines', () => {
    const cwd = copyExample(host, 'dapp-tests');
    const vitest = join(host.folder, 'node_modules/vitest/vitest.mjs');
    const args = [vitest, 'run', '--dir', '.', '--no-file-parallelism', 'dapp.vitest.js'];
    args.push('--config', join(cwd, 'vitest.config.js'));
    const output = execFileSync(process.execPath, args, { cwd, encoding: 'utf8', env: { ...process.env, VITEST: '' } });
    expect(output).toMatch(/1 passed/);
    const fixture = readFileSync(join(cwd, 'sandbox-fixture.js'), 'utf8');
    const lines = fixture.split('\n').filter((line) => line.trim() !== '' && !/^(?:import|\/[*/])/.test(line));
    expect(lines.length).toBeLessThanOrEqual(8);
  });

  it.each(NAMES)('%s: has a README with its commands, and is listed', (name) => {
    const readme = readFileSync(join(ROOT, name, 'README.md'), 'utf8');
    expect(readme).toMatch(/^# .+\n\n.+/);
    expect(readme).toContain('```sh');
    expect(readFileSync(join(ROOT, 'README.md'), 'utf8')).toContain(`(${name}/README.md)`);
  });

  it.skipIf(!LONG).each(INSTALLED_IN_LONG_RUN)(
    '%s: passes its tests with installed packages (long run only)',
    (name) => {
      const cwd = copyExample(host, name);
      const npm = (...args: string[]) =>
        execFileSync('npm', [...args, '--no-audit', '--no-fund', '--loglevel=error'], { cwd, encoding: 'utf8' });
      npm('install', '--no-save', join(host.folder, tarballIn(host.folder)));
      npm('test'); // rejects if a test fails
    },
  );

  it('solver: has about 60 lines', () => {
    expect(readFileSync(join(ROOT, 'solver/solver.js'), 'utf8').split('\n').length).toBeLessThan(65);
  });
});

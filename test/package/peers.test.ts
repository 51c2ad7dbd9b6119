import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { manifest } from './host.ts';

/** Oldest and newest versions with which the tests of the adapters passed. */
const VERSIONS: Readonly<Record<string, readonly [oldest: string, newest: string]>> = {
  '@cowprotocol/sdk-cow-shed': ['0.2.7', '0.5.2'],
  'better-sqlite3': ['11.0.0', '13.2.0'],
  pino: ['8.0.0', '10.4.0'],
  piscina: ['4.0.0', '5.3.2'],
  'prom-client': ['14.0.0', '15.1.3'],
  secp256k1: ['4.0.4', '5.0.2'],
};

// npm installs nothing into a project whose own version of an optional peer is out of range, used or not.
test.each([
  ['oldest', 0],
  ['newest', 1],
] as const)('the package installs next to the %s versions of its peers', (_, index) => {
  const folder = mkdtempSync(join(tmpdir(), 'intentbook-peers-'));
  const npm = (...args: readonly string[]) =>
    execFileSync('npm', [...args, '--offline', '--ignore-scripts', '--no-audit'], { cwd: folder, stdio: 'pipe' });
  // The packages have no dependencies and no files, so that no registry is necessary.
  const { version, peerDependencies, peerDependenciesMeta } = manifest;
  const packages = [
    { name: 'intentbook', version, peerDependencies, peerDependenciesMeta },
    ...Object.entries(VERSIONS).map(([name, versions]) => ({ name, version: versions[index] })),
  ];
  try {
    for (const content of packages) {
      mkdirSync(join(folder, content.name), { recursive: true });
      writeFileSync(join(folder, content.name, 'package.json'), JSON.stringify(content));
    }
    npm('pack', ...packages.map(({ name }) => `./${name}`));
    const archives = packages.map((each) => `./${each.name.replace('@', '').replace('/', '-')}-${each.version}.tgz`);
    expect(() => npm('install', ...archives)).not.toThrow();
  } finally {
    rmSync(folder, { recursive: true });
  }
});

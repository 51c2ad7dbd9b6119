import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const lock = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8')) as {
  packages: Record<string, { resolved?: string; optionalDependencies?: Record<string, string> }>;
};

test('lock file has every optional build, so that `npm ci` works; else run test/package/complete-lock.mjs', () => {
  const missing = Object.entries(lock.packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (name) => !lock.packages[`node_modules/${name}`] && !lock.packages[`${path}/node_modules/${name}`],
    ),
  );
  expect(missing).toEqual([]);
});

test('lock file names no registry', () => {
  expect(Object.values(lock.packages).filter(({ resolved }) => resolved?.startsWith('http'))).toEqual([]);
});

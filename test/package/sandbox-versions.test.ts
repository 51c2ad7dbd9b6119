import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { PEERS } from '../../apps/sandbox/peers.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');

test.each(['README.md', 'docs/guides/sandbox.md', 'apps/sandbox/command.ts'])(
  '%s installs the packages of the sandbox in the tested versions',
  (path) => {
    const installed = [...read(path).matchAll(/ ((?:@[\w-]+\/)?[\w-]+)@(\d[\w.-]*)/g)]
      .map(([, name, version]) => [name, version])
      .filter(([name = '']) => name in PEERS);
    expect(new Set(installed.map(([name]) => name))).toEqual(new Set(Object.keys(PEERS)));
    for (const [name = '', version] of installed)
      expect([name, version]).toEqual([name, PEERS[name as keyof typeof PEERS]]); // filtered above
  },
);

test('the tests of the sandbox use the versions that it recommends', () => {
  const { devDependencies } = JSON.parse(read('package.json')) as { devDependencies: Record<string, string> };
  for (const [name, version] of Object.entries(PEERS)) expect([name, devDependencies[name]]).toEqual([name, version]);
});

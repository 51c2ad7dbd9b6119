import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const FILES = execFileSync('git', ['ls-files', 'src', 'adapters', 'apps'], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => file.endsWith('.ts'));

/** Types that are declared twice, with the reason. */
const ALLOWED: Readonly<Record<string, string>> = {
  Hex: 'intentbook/sign is loaded without the core',
  SigningDomain: 'intentbook/sign is loaded without the core',
};

test('each exported type has one declaration, so that one name has one meaning', () => {
  const places = new Map<string, Set<string>>();
  for (const file of FILES) {
    for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(/^export (?:interface|type|class) (\w+)/gm)) {
      places.set(name, (places.get(name) ?? new Set()).add(file));
    }
  }
  const repeated = [...places].filter(([, files]) => files.size > 1);
  expect(repeated.map(([name]) => name).sort()).toEqual(Object.keys(ALLOWED).sort());
});

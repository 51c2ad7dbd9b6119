import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const FILES = execFileSync('git', ['ls-files', 'src', 'adapters', 'apps'], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => /\.(ts|js|mjs)$/.test(file));

const DECLARATION = /^export (?:default )?(?:async )?(?:function\*?|const|interface|type|class) (\w+)/gm;

/** Names with two declarations of one meaning, with the reason. */
const ALLOWED: Readonly<Record<string, string>> = {
  Hex: 'intentbook/sign is loaded without the core',
  SigningDomain: 'intentbook/sign is loaded without the core',
  appDataHash: 'intentbook/sign is loaded without the core',
  typedDataDigest: 'intentbook/sign is loaded without the core',
};

/** The stores of both databases have the same parts under the same names. */
const areTwins = (files: ReadonlySet<string>) =>
  files.size === 2 &&
  ['sqlite', 'postgres'].every((name) => [...files].some((file) => file.startsWith(`adapters/${name}/`)));

test('each exported name has one declaration, so that it has one meaning', () => {
  const places = new Map<string, Set<string>>();
  for (const file of FILES) {
    for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(DECLARATION)) {
      places.set(name, (places.get(name) ?? new Set()).add(file));
    }
  }
  const repeated = [...places].filter(([, files]) => files.size > 1 && !areTwins(files));
  expect(repeated.map(([name]) => name).sort()).toEqual(Object.keys(ALLOWED).sort());
});

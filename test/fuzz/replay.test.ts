import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { readCorpus } from './corpus.ts';
import { check } from './fuzzer.ts';
import { TARGETS } from './targets/index.ts';

const CORPUS = fileURLToPath(new URL('corpus', import.meta.url));

test('fuzz corpus exists for every target and has no other folder', () => {
  expect(readdirSync(CORPUS).sort()).toEqual(TARGETS.map(({ name }) => name).sort());
});

describe.each(TARGETS)('fuzz target $name', (target) => {
  test('no stored input breaks a rule', async () => {
    const inputs = readCorpus(CORPUS, target.name);
    expect(inputs.length).toBeGreaterThan(0);
    for (const { bytes } of inputs) await check(target, bytes);
  });

  test('no seed input breaks a rule', async () => {
    for (const seed of target.seeds) await check(target, new TextEncoder().encode(seed));
  });
});

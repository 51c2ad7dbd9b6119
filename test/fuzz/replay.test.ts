import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { readCorpus } from './corpus.ts';
import { check } from './fuzzer.ts';
import { TARGETS } from './targets/index.ts';

const CORPUS = fileURLToPath(new URL('corpus', import.meta.url));

test('every target has a corpus, and every corpus a target', () => {
  expect(readdirSync(CORPUS).sort()).toEqual(TARGETS.map(({ name }) => name).sort());
});

describe.each(TARGETS)('$name', (target) => {
  test('no input that has found something new breaks a rule', async () => {
    const inputs = readCorpus(CORPUS, target.name);
    expect(inputs.length).toBeGreaterThan(0);
    for (const { bytes } of inputs) await check(target, bytes);
  });

  test('nor does any that it begins with', async () => {
    for (const seed of target.seeds) await check(target, new TextEncoder().encode(seed));
  });
});

// Runs one suite and reports to `run.mjs`, which passes its name, duration and seed in environment variables.
import { mkdirSync, writeFileSync } from 'node:fs';
import { test } from 'vitest';
import type { LongSuite } from './suite.ts';

const given = (name: string): string => {
  const value = process.env[`TEST_LONG_${name}`];
  if (value === undefined) throw new Error(`TEST_LONG_${name} is not set: this is run by test/resilience/long/run.mjs`);
  return value;
};
const name = given('SUITE');

test(name, async () => {
  const { suite } = (await import(`./suites/${name}.ts`)) as { suite: LongSuite };
  const counts: Record<string, number> = {};
  const notes: Record<string, string | number> = {};
  const folder = given('FOLDER');
  mkdirSync(folder, { recursive: true });
  try {
    await suite.run({
      folder,
      seed: Number(given('SEED')),
      milliseconds: Number(given('MILLISECONDS')),
      count(what, by = 1) {
        counts[what] = (counts[what] ?? 0) + by;
      },
      note(what, figure) {
        notes[what] = figure;
      },
    });
  } finally {
    writeFileSync(given('REPORT'), JSON.stringify({ description: suite.description, counts, notes }));
  }
});

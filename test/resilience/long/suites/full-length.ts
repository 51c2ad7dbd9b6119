import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { LongSuite } from '../suite.ts';

const TESTS = fileURLToPath(new URL('../../../', import.meta.url));
/** Variables that run a test of `npm test` at its full length. */
const SWITCH = 'TEST_LONG';

/** Files with loops, kills, runtimes or browsers that `npm test` runs with a small share. */
const FILES = readdirSync(TESTS, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts') && readFileSync(join(TESTS, name), 'utf8').includes(SWITCH))
  .sort();

/** Runs one file at a time from the end of the last run, as many as the time allows. A started file is completed. */
export const suite: LongSuite = {
  description: 'tests that `npm test` runs with a small share pass at their full length',
  async run({ milliseconds, folder, count, note }) {
    const end = performance.now() + milliseconds;
    const place = join(folder, 'next');
    let next = FILES.indexOf(existsSync(place) ? readFileSync(place, 'utf8') : '');
    if (next < 0) next = 0;
    for (let played = 0; played < FILES.length && performance.now() < end; played++) {
      const file = FILES[next] as string; // within it
      const since = performance.now();
      await play(join('test', file));
      count('files');
      note(file, `${((performance.now() - since) / 1000).toFixed(0)} s`);
      next = (next + 1) % FILES.length;
      writeFileSync(place, FILES[next] as string); // the next run starts with a failed file
    }
  },
};

async function play(file: string): Promise<void> {
  const child = spawn('vitest', ['run', '--config', 'test/vitest.config.ts', file], {
    cwd: join(TESTS, '..'),
    stdio: ['ignore', 'pipe', 'pipe'],
    // Not the output of the runner itself.
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], TMPDIR: process.env['TMPDIR'], [SWITCH]: '1' },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${file}:\n${output}`);
}

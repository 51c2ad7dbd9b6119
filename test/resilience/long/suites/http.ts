import assert from 'node:assert/strict';
import { besiege } from '../../../fuzz/server-under-attack.ts';
import type { LongSuite } from '../suite.ts';

export const suite: LongSuite = {
  description: 'no invalid use of HTTP crashes the server, causes a 500 or leaks resources',
  async run({ milliseconds, seed, count, note }) {
    const { attacks, files, memory } = await besiege(milliseconds, seed);
    count('attacks', attacks);
    if (files === undefined || memory === undefined) return;
    note('open files', files.join(' → '));
    note('MB', memory.join(' → '));
    assert(files[1] <= files[0] + 4, 'files are left open');
    assert(memory[1] < memory[0] + 200, 'memory is not given back');
  },
};

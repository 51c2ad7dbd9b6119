import type { Address } from 'intentbook';
import { describe, expect, it } from 'vitest';
import { compileCalls } from '../../../src/protocol/bounded-calls.ts';

const to: Address = `0x${'ab'.repeat(20)}`;

describe('program of calls', () => {
  it('is never larger than a contract creation allows', () => {
    for (const [count, keep] of [
      [0, 32],
      [153, 32],
      [154, 32],
      [1000, 64],
      [300, 0],
    ] as const) {
      const calls = Array.from({ length: count }, (_, i) => ({
        to,
        data: `0x${'00'.repeat(68 - (i % 3))}` as const,
        gas: 1000,
      }));
      const programs = compileCalls(calls, keep);
      expect(programs.reduce((sum, program) => sum + program.calls, 0)).toBe(count);
      for (const { code, calls: each, size } of programs) {
        expect((code.length - 2) / 2).toBeLessThanOrEqual(49_152);
        expect(size).toBe(each * (128 + keep));
        expect(size).toBeLessThanOrEqual(24_576);
      }
      const most = Math.min(Math.floor(24_576 / (128 + keep)), 270);
      expect(programs).toHaveLength(Math.ceil(count / most));
    }
  });
});

import fc from 'fast-check';
import type { HistoryEntry, SequentialModel } from 'intentbook/testing';
import { checkLinearizability } from 'intentbook/testing';
import { describe, expect, test } from 'vitest';

type RegisterInput = { readonly register?: string; readonly write: number } | { readonly register?: string };

/** Registers that are read and written. A write returns nothing. */
const REGISTERS: SequentialModel<number, RegisterInput, number | null> = {
  initial: 0,
  step(state, input, output) {
    if ('write' in input) return [input.write];
    return output === undefined || output === state ? [state] : [];
  },
  partition: ({ register = '' }) => register,
};

/** A counter of which two may be taken, like the quota of an owner. */
const QUOTA: SequentialModel<number, 'take' | 'give', 'done' | 'full'> = {
  initial: 0,
  step(taken, input, output) {
    if (input === 'give') return [Math.max(0, taken - 1)];
    const possible: ['done' | 'full', number] = taken < 2 ? ['done', taken + 1] : ['full', taken];
    return output === undefined || output === possible[0] ? [possible[1]] : [];
  },
};

const write = (start: number, end: number | undefined, value: number, register = ''): Entry => ({
  input: { register, write: value },
  start,
  ...(end === undefined ? {} : { end, output: null }),
});
const read = (start: number, end: number, output: number, register = ''): Entry => ({
  input: { register },
  output,
  start,
  end,
});
type Entry = HistoryEntry<RegisterInput, number | null>;

describe('history is linearizable', () => {
  test.each<[string, readonly Entry[]]>([
    ['without calls', []],
    ['of sequential calls', [write(0, 1, 5), read(2, 3, 5), write(4, 5, 6), read(6, 7, 6)]],
    ['if a concurrent read returns the old value', [write(0, 10, 5), read(1, 2, 0), read(11, 12, 5)]],
    ['if a concurrent read returns the new value', [write(0, 10, 5), read(1, 2, 5), read(3, 4, 5)]],
    ['if concurrent writes take effect in the other order', [write(0, 10, 1), write(1, 9, 2), read(11, 12, 1)]],
    ['if a write of unknown outcome is seen late', [write(0, undefined, 5), read(1, 2, 0), read(3, 4, 5)]],
    ['if a write of unknown outcome is never seen', [write(0, undefined, 5), read(1, 2, 0), read(3, 4, 0)]],
    ['if calls that touch at one moment are exchanged', [write(0, 5, 1), write(5, 6, 2), read(7, 8, 1)]],
    ['with other values in other partitions', [write(0, 1, 5, 'a'), read(2, 3, 0, 'b'), read(2, 3, 5, 'a')]],
  ])('%s', (_, history) => {
    expect(checkLinearizability(REGISTERS, history)).toEqual({ status: 'linearizable' });
  });
});

describe('history is not linearizable', () => {
  test.each<[string, readonly Entry[]]>([
    ['if a read returns a value that was never written', [write(0, 1, 5), read(2, 3, 6)]],
    ['if a read returns an overwritten value', [write(0, 1, 5), write(2, 3, 6), read(4, 5, 5)]],
    ['if a value disappears again', [write(0, 10, 5), read(1, 2, 5), read(3, 4, 0)]],
    ['if an acknowledged write is lost', [write(0, 1, 5), read(2, 3, 0)]],
    [
      'if two readers see two writes in different order',
      [write(0, 20, 1), write(0, 20, 2), read(1, 2, 1), read(3, 4, 2), read(5, 6, 1)],
    ],
    ['if a write of unknown outcome is seen and disappears', [write(0, undefined, 5), read(1, 2, 5), read(3, 4, 0)]],
  ])('%s', (_, history) => {
    const result = checkLinearizability(REGISTERS, history);
    expect(result).toMatchObject({ status: 'not linearizable', partition: '' });
    if (result.status === 'not linearizable') expect(result.explained.length).toBeLessThan(history.length);
  });

  test('if a third of two concurrent places is given', () => {
    const take = { input: 'take', output: 'done', start: 0, end: 10 } as const;
    expect(checkLinearizability(QUOTA, [take, take]).status).toBe('linearizable');
    expect(checkLinearizability(QUOTA, [take, take, take]).status).toBe('not linearizable');
    const give = { input: 'give', output: 'done', start: 4, end: 5 } as const;
    expect(checkLinearizability(QUOTA, [take, take, take, give]).status).toBe('linearizable');
  });

  test('in the partition that is reported', () => {
    const history = [write(0, 1, 5, 'a'), read(2, 3, 5, 'a'), write(0, 1, 5, 'b'), read(2, 3, 0, 'b')];
    expect(checkLinearizability(REGISTERS, history)).toMatchObject({ status: 'not linearizable', partition: 'b' });
  });
});

test('history of a real register with random delays is linearizable, and one with a stale read is not', () => {
  const calls = fc.array(fc.record({ write: fc.boolean(), start: fc.nat(40), before: fc.nat(8), after: fc.nat(8) }), {
    minLength: 1,
    maxLength: 24,
  });
  const property = fc.property(calls, (list) => {
    // Each call takes effect at a moment within its interval.
    let value = 0;
    const moments = list.map((call, i) => ({ ...call, moment: call.start + i / 100 }));
    const history = moments
      .sort((a, b) => a.moment - b.moment)
      .map((call, i): Entry => {
        const [start, end] = [call.moment - call.before, call.moment + call.after];
        if (!call.write) return read(start, end, value);
        value = i + 1;
        return write(start, end, value);
      });
    expect(checkLinearizability(REGISTERS, history)).toEqual({ status: 'linearizable' });
    const after = [read(1000, 1001, -1)];
    expect(checkLinearizability(REGISTERS, [...history, ...after]).status).toBe('not linearizable');
  });
  fc.assert(property, { numRuns: 200 });
});

test('check ends after a maximum number of states', () => {
  const history = Array.from({ length: 12 }, (_, i) => write(0, 100, i));
  const impossible = [...history, read(101, 102, -1)];
  expect(checkLinearizability(REGISTERS, impossible, { maxStates: 100 })).toEqual({
    status: 'undecided',
    partition: '',
  });
  expect(checkLinearizability(REGISTERS, impossible).status).toBe('not linearizable');
});

test('call that ends before its start is a TypeError', () => {
  expect(() => checkLinearizability(REGISTERS, [write(5, 4, 1)])).toThrow('end must be at or after start 5, got 4');
});

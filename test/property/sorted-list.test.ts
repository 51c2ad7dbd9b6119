import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SortedList } from '../../adapters/memory/sorted-list.ts';

const VALUES = 4000;

test('a sorted list equals a sorted array after inserts and removals', () => {
  // Enough values for several blocks. A negative number removes.
  const step = fc.integer({ min: -VALUES, max: 3 * VALUES });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 6000, size: 'max' }), fc.boolean(), (steps, isReversed) => {
      const sign = isReversed ? -1 : 1;
      const list = new SortedList<number>((a, b) => sign * (a - b));
      const model = new Set<number>();
      for (const value of steps) {
        const item = Math.abs(value) % VALUES;
        if (value < 0) {
          list.remove(item);
          model.delete(item);
        } else if (!model.has(item)) {
          list.add(item);
          model.add(item);
        }
      }
      const sorted = [...model].sort((a, b) => sign * (a - b));
      expect(list.length).toBe(sorted.length);
      expect([...list.from(0)]).toEqual(sorted);
      for (const index of [0, 1, 511, 512, 513, 1500, sorted.length - 1, sorted.length].filter((each) => each >= 0)) {
        expect([...list.from(index)]).toEqual(sorted.slice(index));
        expect(list.slice(index, index + 700)).toEqual(sorted.slice(index, index + 700));
        const item = sorted[index];
        if (item !== undefined) expect(list.firstWhere((other) => sign * (other - item) >= 0)).toBe(index);
      }
      expect(list.firstWhere(() => false)).toBe(sorted.length);
      expect(list.firstWhere(() => true)).toBe(0);
    }),
    { numRuns: 60 },
  );
});

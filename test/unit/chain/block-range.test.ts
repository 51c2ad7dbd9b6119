import { describe, expect, test } from 'vitest';
import { createBlockRange } from '../../../src/chain/block-range.ts';

describe('block range', () => {
  test('starts at 1000 blocks, or at the largest range', () => {
    expect(createBlockRange(10_000).size).toBe(1000);
    expect(createBlockRange(1000).size).toBe(1000);
    expect(createBlockRange(50).size).toBe(50);
  });

  test('doubles after small responses, up to the largest range', () => {
    const range = createBlockRange(3000);
    const sizes = [0, 1999, 0].map((logs) => {
      range.succeeded(logs);
      return range.size;
    });
    expect(sizes).toEqual([2000, 3000, 3000]);
  });

  test('keeps its size between the target and twice the target of logs, and halves it above', () => {
    const range = createBlockRange(10_000);
    const sizes = [2000, 4000, 4001, 1_000_000].map((logs) => {
      range.succeeded(logs);
      return range.size;
    });
    expect(sizes).toEqual([1000, 1000, 500, 250]);
  });

  test('never is smaller than one block', () => {
    const range = createBlockRange(2);
    for (let i = 0; i < 3; i++) range.succeeded(5000);
    expect(range.size).toBe(1);
    range.rejected(1);
    expect(range.size).toBe(1);
    range.succeeded(0);
    expect(range.size).toBe(1);
  });

  test('halves a rejected size, and does not exceed three quarters of it before many responses', () => {
    const range = createBlockRange(10_000);
    range.rejected(1000);
    expect(range.size).toBe(500);
    const sizes = Array.from({ length: 21 }, () => {
      range.succeeded(0);
      return range.size;
    });
    // The ceiling doubles with the tenth and the twentieth response.
    expect(sizes.slice(0, 9)).toEqual([750, 750, 750, 750, 750, 750, 750, 750, 750]);
    expect(sizes.slice(9)).toEqual([1500, 1500, 1500, 1500, 1500, 1500, 1500, 1500, 1500, 1500, 3000, 3000]);
  });

  test('counts the responses from the last rejection', () => {
    const range = createBlockRange(10_000);
    for (let i = 0; i < 5; i++) range.succeeded(2000);
    range.rejected(1000);
    const sizes = Array.from({ length: 10 }, () => {
      range.succeeded(0);
      return range.size;
    });
    expect(sizes.slice(-2)).toEqual([750, 1500]);
  });

  test('has a ceiling up to the largest range again', () => {
    const range = createBlockRange(1000);
    range.rejected(1000);
    for (let i = 0; i < 11; i++) range.succeeded(0);
    expect(range.size).toBe(1000);
  });
});

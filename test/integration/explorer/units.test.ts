import { describe, expect, it } from 'vitest';

/** The file of the page, which has no types. */
const { rounded, exact } = (await import(new URL('../../../apps/explorer/page/units.js', import.meta.url).href)) as {
  rounded(atoms: string | bigint, decimals: number): string;
  exact(atoms: string | bigint, decimals: number): string;
};

describe('amount of the explorer', () => {
  it.each([
    ['123456789000000000000000', 18, '123,457'],
    ['2479277500', 6, '2,479.28'],
    ['2479274900', 6, '2,479.27'],
    ['999999999999999999', 18, '1'],
    ['1500000000000000000', 18, '1.5'],
    ['123456789', 18, '< 0.00000001'],
    ['123456789012', 18, '0.000000123457'],
    ['0', 18, '0'],
    ['7', 0, '7'],
    ['12345678', 0, '12,345,678'],
    ['99999999999999999999', 0, '≈ 9.999e19'],
  ])('%s with %i decimals is rounded to %s', (atoms, decimals, text) => {
    expect(rounded(atoms, decimals)).toBe(text);
    expect(rounded(BigInt(atoms), decimals)).toBe(text);
  });

  it('has all digits on hover', () => {
    expect(exact('123456789000000000000001', 18)).toBe('123,456.789000000000000001');
  });
});

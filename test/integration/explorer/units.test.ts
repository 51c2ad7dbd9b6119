import { randomBytes } from 'node:crypto';
import { getAddress, toHex } from 'viem';
import { describe, expect, it } from 'vitest';
import { range } from '../../conformance/orders.ts';

/** Imports a file of the page. Those files have no types. */
const importPage = (name: string) => import(new URL(`../../../apps/explorer/page/${name}`, import.meta.url).href);

const { checksummed } = (await importPage('checksum.js')) as { checksummed(text: string): string };

const { rounded, exact, dollars } = (await importPage('units.js')) as {
  rounded(atoms: string | bigint, decimals: number): string;
  exact(atoms: string | bigint, decimals: number): string;
  dollars(value: number): string;
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

describe('dollars of the explorer', () => {
  it.each([
    [0, '$0'],
    [5000, '$5,000'],
    [8984.2, '$8,984.20'],
    [4999.999, '$5,000'],
    [12.934, '$12.93'],
    [0.5, '$0.50'],
    [0.00123, '$0.0012'],
    [-3.1, '$-3.10'],
  ])('%d has two digits or none: %s', (value, text) => {
    expect(dollars(value)).toBe(text);
  });
});

describe('address of the explorer', () => {
  it('has the checksum of EIP-55', () => {
    const addresses = range(200).map(() => toHex(randomBytes(20)));
    expect(addresses.map(checksummed)).toEqual(addresses.map((address) => getAddress(address)));
  });

  it.each(['0x', '0x1234', `0x${'ab'.repeat(32)}`, `0x${'ab'.repeat(56)}`, `0x${'Ab'.repeat(20)}`, 'abc'])(
    'is not expected of %s',
    (text) => {
      expect(checksummed(text)).toBe(text);
    },
  );
});

const { ago } = (await importPage('format.js')) as { ago(milliseconds: number, now: number): string };

describe('relative time of the explorer', () => {
  it.each([
    [-180_000, '3 minutes ago'],
    [-1000, '1 second ago'],
    [0, 'now'],
    [1000, 'now'],
    [5000, 'now'],
    [6000, 'in 6 seconds'],
    [7_200_000, 'in 2 hours'],
  ])('%i ms from now is "%s"', (difference, text) => {
    expect(ago(1_700_000_000_000 + difference, 1_700_000_000_000)).toBe(text);
  });
});

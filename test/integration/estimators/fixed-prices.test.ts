import fc from 'fast-check';
import type { Estimate, OrderKind } from 'intentbook';
import { fixedPrices } from 'intentbook/estimators';
import { describe, expect, test } from 'vitest';

const A = `0x${'aa'.repeat(20)}` as const;
const B = `0x${'bb'.repeat(20)}` as const;
const context = { signal: new AbortController().signal, timeout: 1 };

function trade(table: Parameters<typeof fixedPrices>[0], kind: OrderKind, amount: bigint): Estimate | undefined {
  return fixedPrices(table).estimate({ sellToken: A, buyToken: B, kind, amount }, context) as Estimate | undefined;
}

describe('fixed-price estimator', () => {
  test.each([
    // price of A, of B, sold, bought
    ['1', '0.5', 10n, 20n],
    ['0.5', '1', 11n, 5n],
    ['4e-10', '1', 10n ** 10n, 4n],
    ['1', '0.00029481', 10n ** 18n, 3_392_015_196_228_079_101_794n],
    [{ price: '1', decimals: 6 }, { price: '2000', decimals: 18 }, 1_000_000n, 500_000_000_000_000n],
    [{ price: '0.0005', decimals: 0 }, 1, 2n, 10n ** 15n],
  ])('with A at %o and B at %o: %s sold is %s bought', (a, b, sold, bought) => {
    expect(trade({ [A]: a, [B]: b }, 'sell', sold)).toEqual({ amount: bought, gas: 150_000 });
  });

  test('quotes for a purchase the least sale that buys it', () => {
    const price = fc.tuple(fc.bigInt({ min: 10n ** 7n, max: 10n ** 20n }), fc.nat(25)).map(([n, e]) => `${n}e-${e}`);
    fc.assert(
      fc.property(price, price, fc.bigInt({ min: 1n, max: 10n ** 30n }), (a, b, amount) => {
        const table = { [A]: a, [B]: b };
        const sold = trade(table, 'buy', amount)?.amount ?? 0n;
        expect(trade(table, 'sell', sold)?.amount ?? 0n).toBeGreaterThanOrEqual(amount);
        if (sold > 1n) expect(trade(table, 'sell', sold - 1n)?.amount ?? 0n).toBeLessThan(amount);
      }),
    );
  });

  test('returns nothing for values below an atom and for unknown tokens', () => {
    expect(trade({ [A]: '1e-18', [B]: '1' }, 'sell', 1n)).toBeUndefined();
    expect(trade({ [A]: '1' }, 'sell', 1n)).toBeUndefined();
    expect(trade({ [B]: '1' }, 'sell', 1n)).toBeUndefined();
  });

  test('returns the listed native price per atom', () => {
    const source = fixedPrices({ [A.toUpperCase().replace('0X', '0x')]: { price: '0.0004', decimals: 6 }, [B]: 4e-10 });
    expect(source.nativePrice?.(A, context)).toBe('400000000');
    expect(source.nativePrice?.(B, context)).toBe('0.0000000004');
    expect(source.nativePrice?.(`0x${'cc'.repeat(20)}`, context)).toBeUndefined();
  });

  test.each([
    ['an address', { '0x12': '1' }, /0x12/],
    ['a price', { [A]: '-1' }, /price/],
    ['a price of zero', { [A]: 0 }, /price/],
    ['a price in exponent words', { [A]: 'much' }, /much/],
    ['a price of null', { [A]: null }, /price of 0xa+ must/],
    ['a price within an object', { [A]: { price: null, decimals: 18 } }, /price of 0xa+ must/],
    ['a price of less than a wei for 10^18 atoms', { [A]: '1e-300' }, /must be from 1 to 2\^256/],
    ['a price of more than 256 bits for 10^18 atoms', { [A]: '1e60' }, /must be from 1 to 2\^256/],
    ['an address in two spellings', { [A]: 1, [A.toUpperCase().replace('0X', '0x')]: 2 }, /twice/],
    ['decimals', { [A]: { price: '1', decimals: 1.5 } }, /decimals/],
  ])('rejects %s that is invalid when it is created', (_, table, message) => {
    expect(() => fixedPrices(table as never)).toThrow(message);
  });

  test.each([-1, 0, 1.5, Number.NaN, '1'])('rejects gas of %s when it is created', (gas) => {
    expect(() => fixedPrices({}, { gas: gas as number })).toThrow(/gas must be an integer from 1 up/);
  });

  test('suggests the correct name of a misspelled option', () => {
    expect(() => fixedPrices({}, { gass: 1 } as never)).toThrow(/did you mean "gas"/);
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Decimal } from '../../../src/protocol/decimal.ts';
import { parseDecimal } from '../../../src/protocol/decimal.ts';
import type { QuoteSide } from '../../../src/quotes/fee.ts';
import {
  applyVolumeFee,
  compareRates,
  computeNetRate,
  computeNetworkFee,
  computeQuoteAmounts,
  formatBasisPoints,
  getFixedAmount,
} from '../../../src/quotes/fee.ts';

const MAX = 2n ** 256n - 1n;
const amounts = fc.oneof(fc.bigInt({ min: 1n, max: MAX }), fc.bigInt({ min: 1n, max: 10n ** 24n }), fc.constant(MAX));

function decimal(text: string | number): Decimal {
  const read = parseDecimal(text);
  if (read === undefined) throw new Error(`${text} is no decimal number`);
  return read;
}

/** A fraction in lowest terms, independent of the code under test. */
class Rational {
  readonly n: bigint;
  readonly d: bigint;

  constructor(n: bigint, d = 1n) {
    const divisor = gcd(n, d);
    this.n = n / divisor;
    this.d = d / divisor;
  }

  static of(text: string): Rational {
    const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e');
    const [whole = '', fraction = ''] = mantissa.split('.');
    const value = new Rational(BigInt(whole + fraction), 10n ** BigInt(fraction.length));
    const power = 10n ** BigInt(exponent.replace(/^[+-]/, ''));
    return exponent.startsWith('-') ? value.times(new Rational(1n, power)) : value.times(new Rational(power));
  }

  times(other: Rational): Rational {
    return new Rational(this.n * other.n, this.d * other.d);
  }

  over(other: Rational): Rational {
    return new Rational(this.n * other.d, this.d * other.n);
  }

  floor(): bigint {
    return this.n / this.d;
  }

  ceil(): bigint {
    return this.n % this.d === 0n ? this.n / this.d : this.n / this.d + 1n;
  }
}

function gcd(a: bigint, b: bigint): bigint {
  return b === 0n ? a : gcd(b, a % b);
}

/** Decimal text with up to 30 digits and a point or an exponent at any position. */
const decimalText = fc
  .tuple(fc.bigInt({ min: 1n, max: 10n ** 30n }), fc.integer({ min: -20, max: 30 }), fc.boolean())
  .map(([digits, scale, withExponent]) => {
    const text = digits.toString();
    if (withExponent || scale < 0) return `${text}e${-scale}`;
    const padded = text.padStart(scale + 1, '0');
    return scale === 0 ? padded : `${padded.slice(0, -scale)}.${padded.slice(-scale)}`;
  });

describe('network fee', () => {
  test.each([
    // gas, gasPrice, sellTokenPrice, fee
    [150_000n, '15000000000', '1', 2_250_000_000_000_000n],
    [150_000n, '15000000000', '0.00029481', 7_632_034_191_513_177_980n],
    [150_000n, '15000000000', '4e-10', 5_625_000_000_000_000_000_000_000n],
    [0n, '15000000000', '4e-10', 0n],
    [1n, '1', '3', 1n],
    [3n, '1', '3', 1n],
    [4n, '1', '3', 2n],
    // In doubles, 0.1 × 3 slightly exceeds 0.3, and the fee would be 4.
    [3n, '0.1', '0.1', 3n],
  ])('%s gas at %s wei, a token worth %s, is %s atoms', (gas, gasPrice, sellTokenPrice, fee) => {
    expect(computeNetworkFee(gas, { gasPrice: decimal(gasPrice), sellTokenPrice: decimal(sellTokenPrice) })).toBe(fee);
  });

  test('is the quotient of exact rationals, rounded up', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 60n }), decimalText, decimalText, (gas, gasPrice, price) => {
        const cost = { gasPrice: decimal(gasPrice), sellTokenPrice: decimal(price) };
        const exact = new Rational(gas).times(Rational.of(gasPrice)).over(Rational.of(price));
        expect(computeNetworkFee(gas, cost)).toBe(exact.ceil());
      }),
      { numRuns: 2000 },
    );
  });

  test('equals the result in doubles where that is exact', () => {
    let compared = 0;
    const power = fc.integer({ min: -30, max: 20 }).map((exponent) => 2 ** exponent);
    fc.assert(
      fc.property(
        fc.nat(10_000_000),
        fc.nat(2 ** 26),
        power,
        fc.integer({ min: 1, max: 1000 }),
        (gas, gasPrice, p, m) => {
          const price = p * m;
          const wei = gas * gasPrice;
          const quotient = wei / price;
          // Exact: the product is an integer below 2^53, and the reverse multiplication shows that the division lost
          // nothing.
          fc.pre(
            Number.isSafeInteger(wei) &&
              Rational.of(String(quotient))
                .times(Rational.of(String(price)))
                .over(new Rational(BigInt(wei) || 1n)).n === 1n,
          );
          compared++;
          const cost = { gasPrice: decimal(gasPrice), sellTokenPrice: decimal(price) };
          expect(computeNetworkFee(BigInt(gas), cost)).toBe(BigInt(Math.ceil(quotient)));
        },
      ),
      { numRuns: 1000 },
    );
    expect(compared).toBeGreaterThan(500);
  });
});

describe('quote amounts', () => {
  const beforeFee = (amount: bigint): QuoteSide => ({ kind: 'sell', sellAmountBeforeFee: amount });
  const afterFee = (amount: bigint): QuoteSide => ({ kind: 'sell', sellAmountAfterFee: amount });
  const buy = (amount: bigint): QuoteSide => ({ kind: 'buy', buyAmountAfterFee: amount });

  test('of a sale before fee keep the rate after the fee and add up to the request', () => {
    fc.assert(
      fc.property(amounts, amounts, amounts, (whole, estimated, fee) => {
        const quoted = computeQuoteAmounts(beforeFee(whole), estimated, fee);
        const rest = fee < whole ? whole - fee : 0n;
        const exact = new Rational(estimated).times(new Rational(rest, whole)).floor();
        const covered = exact === 0n ? 'uncovered' : { sellAmount: rest, buyAmount: exact };
        expect(quoted).toEqual(covered);
      }),
    );
  });

  test('do not cover a fee equal to the sell amount, but one atom less', () => {
    expect(computeQuoteAmounts(beforeFee(100n), 7n, 100n)).toBe('uncovered');
    expect(computeQuoteAmounts(beforeFee(100n), 700n, 99n)).toEqual({ sellAmount: 1n, buyAmount: 7n });
    expect(computeQuoteAmounts(beforeFee(100n), 99n, 99n)).toBe('uncovered'); // one atom buys nothing at this rate
  });

  test('of a sale after fee and of a purchase are the requested and the estimated ones', () => {
    fc.assert(
      fc.property(amounts, amounts, amounts, (fixed, estimated, fee) => {
        expect(computeQuoteAmounts(afterFee(fixed), estimated, fee)).toEqual({
          sellAmount: fixed,
          buyAmount: estimated,
        });
        expect(computeQuoteAmounts(buy(fixed), estimated, fee)).toEqual({ sellAmount: estimated, buyAmount: fixed });
        for (const side of [beforeFee(fixed), afterFee(fixed), buy(fixed)]) expect(getFixedAmount(side)).toBe(fixed);
      }),
    );
  });

  test('deduct the volume fee from the buy amount or add it to the sell amount', () => {
    fc.assert(
      fc.property(amounts, amounts, amounts, fc.nat(999_999), (sellAmount, buyAmount, fee, ppm) => {
        const share = (volume: bigint) => new Rational(volume * BigInt(ppm), 1_000_000n).floor();
        expect(applyVolumeFee('sell', { sellAmount, buyAmount }, fee, ppm)).toEqual({
          sellAmount,
          buyAmount: buyAmount - share(buyAmount),
        });
        expect(applyVolumeFee('buy', { sellAmount, buyAmount }, fee, ppm)).toEqual({
          sellAmount: sellAmount + share(sellAmount + fee),
          buyAmount,
        });
      }),
    );
  });

  test.each([
    [200, '2'],
    [30, '0.3'],
    [0, '0'],
    [25, '0.25'],
    [12_345, '123.45'],
  ])('with %s parts per million are %s basis points', (ppm, text) => {
    expect(formatBasisPoints(ppm)).toBe(text);
  });

  test('rank estimates by output per input after gas', () => {
    const better = (side: QuoteSide, a: [bigint, bigint], b: [bigint, bigint]) =>
      compareRates(computeNetRate(side, ...a), computeNetRate(side, ...b)) > 0;
    // Three more atoms of output do not compensate gas of a tenth of the sale.
    expect(better(beforeFee(1000n), [1000n, 10n], [1003n, 110n])).toBe(true);
    expect(better(afterFee(1000n), [1000n, 10n], [1003n, 110n])).toBe(true);
    expect(better(buy(1000n), [1000n, 10n], [990n, 30n])).toBe(true);
    expect(better(beforeFee(1000n), [1n, 999n], [10n ** 30n, 1000n])).toBe(true);
    expect(better(beforeFee(1000n), [1n, 1001n], [1n, 2000n])).toBe(true);
    expect(better(buy(1000n), [1000n, 10n], [1000n, 10n])).toBe(false);
  });
});

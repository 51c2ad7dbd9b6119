/** An exact fraction, for checking integer arithmetic. The denominator is positive. */
export interface Rational {
  readonly n: bigint;
  readonly d: bigint;
}

/** Creates a fraction. */
export function rational(n: bigint, d = 1n): Rational {
  if (d === 0n) throw new RangeError('the denominator is 0');
  return d < 0n ? { n: -n, d: -d } : { n, d };
}

export const add = (a: Rational, b: Rational) => rational(a.n * b.d + b.n * a.d, a.d * b.d);
export const subtract = (a: Rational, b: Rational) => rational(a.n * b.d - b.n * a.d, a.d * b.d);
export const multiply = (a: Rational, b: Rational) => rational(a.n * b.n, a.d * b.d);
export const divide = (a: Rational, b: Rational) => rational(a.n * b.d, a.d * b.n);
export const isLess = (a: Rational, b: Rational) => a.n * b.d < b.n * a.d;
export const least = (a: Rational, b: Rational) => (isLess(b, a) ? b : a);
export const most = (a: Rational, b: Rational) => (isLess(a, b) ? b : a);

export function floor({ n, d }: Rational): bigint {
  const quotient = n / d;
  return n < 0n && quotient * d !== n ? quotient - 1n : quotient;
}

export const ceil = ({ n, d }: Rational): bigint => -floor({ n: -n, d });

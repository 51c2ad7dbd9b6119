/** An exact non-negative decimal number: `digits` divided by ten to the power of `scale`. */
export interface Decimal {
  readonly digits: bigint;
  /** The number of digits after the decimal point; not negative. */
  readonly scale: number;
}

const DECIMAL = /^(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/;

/** Maximum text length, slightly above the exact expansion of the smallest double. */
const MAX_LENGTH = 1100;

/** Maximum absolute exponent, above those of doubles. */
const MAX_EXPONENT = 400;

/**
 * Parses a decimal number: text such as `15000000000`, `0.00029481` or `4e-10`, a number in its shortest decimal form,
 * or a bigint. Never converts to a double. Length and exponent are checked before anything is computed.
 *
 * @returns The number, or `undefined` if it is not valid or negative.
 */
export function parseDecimal(value: unknown): Decimal | undefined {
  if (typeof value === 'bigint') return value < 0n ? undefined : { digits: value, scale: 0 };
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || text.length > MAX_LENGTH) return undefined;
  const [, whole, fraction = '', exponent = '0'] = DECIMAL.exec(text) ?? [];
  if (whole === undefined || Math.abs(Number(exponent)) > MAX_EXPONENT) return undefined;
  return decimal(BigInt(whole + fraction), fraction.length - Number(exponent));
}

/** Formats a decimal number without exponent and without trailing zeros. */
export function formatDecimal({ digits, scale }: Decimal): string {
  const text = digits.toString().padStart(scale + 1, '0');
  const point = text.length - scale;
  const fraction = text.slice(point).replace(/0+$/, '');
  return fraction === '' ? text.slice(0, point) : `${text.slice(0, point)}.${fraction}`;
}

/** Formats a price as native atoms per 10^18 atoms of the token, rounded down. */
export function toPricePerEther({ digits, scale }: Decimal): string {
  return ((digits * 10n ** 18n) / 10n ** BigInt(scale)).toString();
}

/** Divides with `significant` digits, the last one rounded half up. `divisor` must be positive. */
export function divideDecimals(dividend: bigint, divisor: bigint, significant: number): Decimal {
  if (dividend === 0n) return { digits: 0n, scale: 0 };
  // The quotient has as many digits before the point as the lengths differ by, or one more.
  const scale = significant - (dividend.toString().length - divisor.toString().length);
  const [numerator, denominator] =
    scale >= 0 ? [dividend * 10n ** BigInt(scale), divisor] : [dividend, divisor * 10n ** BigInt(-scale)];
  const digits = numerator / denominator; // `significant` of them, or one more
  const surplus = digits.toString().length > significant ? 1 : 0;
  const unit = denominator * 10n ** BigInt(surplus);
  return decimal((2n * numerator + unit) / (2n * unit), scale - surplus);
}

/** Compares two decimal numbers: negative, zero or positive if `a` is less than, equal to or greater than `b`. */
export function compareDecimals(a: Decimal, b: Decimal): number {
  const difference = a.digits * 10n ** BigInt(b.scale) - b.digits * 10n ** BigInt(a.scale);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

function decimal(digits: bigint, scale: number): Decimal {
  return scale >= 0 ? { digits, scale } : { digits: digits * 10n ** BigInt(-scale), scale: 0 };
}

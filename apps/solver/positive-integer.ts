/** Maximum delay of a timer, in milliseconds. */
export const MAX_DELAY = 2 ** 31 - 1;

/** @throws TypeError if an option is not an integer from 1 to `most`. */
export function parsePositiveInteger(
  caller: string,
  name: string,
  value: number | undefined,
  byDefault: number,
  most: number = Number.MAX_SAFE_INTEGER,
): number {
  const number = value ?? byDefault;
  if (Number.isSafeInteger(number) && number > 0 && number <= most) return number;
  const expected = most === MAX_DELAY ? `integer up to ${most}` : 'integer';
  throw new TypeError(`${caller}: ${name} must be a positive ${expected}, got ${String(number)}`);
}

import * as z from 'zod/mini';
import { OrderBookError } from '../errors.ts';
import { formatValue } from './format-value.ts';
import type { Hex } from './hex.ts';

/** Applied after the pattern has matched. */
const LOWER = /* @__PURE__ */ z.transform((text: string) => text.toLowerCase() as Hex);

/** A text that completes the name of a field, for a value that does not match. */
const expected = (text: string) => ({
  error: ({ input }: { readonly input?: unknown }) => `${text}, got ${formatValue(input)}`,
});

/** Creates the schema of hex text with a fixed size: either case in the input, lower case in the output. */
export function hexSchema(size: number) {
  const pattern = new RegExp(`^0x[0-9a-fA-F]{${2 * size}}$`);
  return z.pipe(z.string().check(z.regex(pattern, expected(`must be 0x and ${2 * size} hex digits`))), LOWER);
}

/** Creates the schema of hex text with any number of bytes. */
export function hex() {
  const text = z.string().check(z.regex(/^0x(?:[0-9a-fA-F]{2})*$/, expected('must be 0x and pairs of hex digits')));
  return z.pipe(text, LOWER);
}

/** Creates the schema of an amount as text. A number could have lost digits before it is read. */
export function amountText() {
  return z.string({
    error: ({ input }) =>
      typeof input === 'number' || typeof input === 'bigint'
        ? `must be decimal digits as a string, such as "1000", got the ${typeof input} ${formatValue(input)}`
        : undefined,
  });
}

/** Creates the schema of an amount in decimal digits. Its range is checked separately, with its own error codes. */
export function amount() {
  return amountText().check(z.regex(/^[0-9]+$/, expected('must be decimal digits only')));
}

/**
 * Creates the error of a number that is out of range. Values of other types have the common error.
 *
 * @param reason - The reason for which the number is not valid.
 */
export const numberError = (reason: string) => ({
  error({ input }: { readonly input?: unknown }): string | undefined {
    if (typeof input !== 'number') return undefined;
    return `${reason}, got ${input}${input >= MILLISECONDS ? ', which looks like milliseconds' : ''}`;
  },
});

/** The time of the year 2001 in milliseconds. In seconds it is far in the future. */
const MILLISECONDS = 1e12;

export const uint32 = (reason: string) => z.uint32(numberError(reason));

export const epochSeconds = () => uint32('must be whole seconds since 1970, as a uint32');

/** Parses a value with a schema, or returns an error with the first invalid field and the reason. */
export function parseShape<T>(
  schema: z.ZodMiniType<T>,
  value: unknown,
  code: 'InvalidBody' | 'InvalidParameter' = 'InvalidBody',
): T | OrderBookError {
  const result = schema.safeParse(value, SHAPE_TEXTS);
  if (result.success) return result.data;
  const { path, reason } = firstShapeError(result.error);
  return new OrderBookError(code, `${path === '' ? 'the body' : path} ${reason}`, { path }, 'shape');
}

/** Returns the first invalid field and the reason. The path of the whole value is empty. */
export function firstShapeError({ issues: [issue] }: z.core.$ZodError) {
  return { path: issue?.path.join('.') ?? '', reason: issue?.message ?? 'is not valid' };
}

/** The texts for schemas without their own. Those of zod depend on the language that the application has chosen. */
export const SHAPE_TEXTS = {
  error(issue: z.core.$ZodRawIssue): string {
    const { code, input, expected, values } = issue;
    if (input === undefined) return 'is missing';
    if (code === 'invalid_value') return `must be one of ${values.join(', ')}, got ${formatValue(input)}`;
    if (code !== 'invalid_type') return 'is not valid';
    return `must be a${/^[aio]/.test(expected) ? 'n' : ''} ${expected}, got ${formatValue(input)}`;
  },
};

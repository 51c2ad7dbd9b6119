import * as z from 'zod/mini';
import { OrderBookError } from '../errors.ts';
import { formatValue } from './format-value.ts';
import type { Hex } from './hex.ts';

/** Applied after the pattern has matched. */
const LOWER = /* @__PURE__ */ z.transform((text: string) => text.toLowerCase() as Hex);

/** Creates the schema of hex text with a fixed size: either case in the input, lower case in the output. */
export function hexSchema(size: number) {
  const pattern = new RegExp(`^0x[0-9a-fA-F]{${2 * size}}$`);
  const text = z.string().check(z.regex(pattern, { error: `must be 0x and ${2 * size} hex digits` }));
  return z.pipe(text, LOWER);
}

/** Creates the schema of hex text with any number of bytes. */
export function hex() {
  const text = z.string().check(z.regex(/^0x(?:[0-9a-fA-F]{2})*$/, { error: 'must be 0x and pairs of hex digits' }));
  return z.pipe(text, LOWER);
}

/** Creates the schema of an amount in decimal digits. Its range is checked separately, with its own error codes. */
export function amount() {
  return z.string().check(z.regex(/^[0-9]+$/, { error: 'must be decimal digits only' }));
}

/**
 * Creates the schema of a `uint32`.
 *
 * @param error - The reason for which a number is not valid.
 */
export function uint32(error: string) {
  return z.uint32({ error: ({ input }) => (typeof input === 'number' ? error : undefined) });
}

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
    if (code === 'invalid_value') return `must be one of ${values.join(', ')}`;
    if (code !== 'invalid_type') return 'is not valid';
    return `must be a${/^[aio]/.test(expected) ? 'n' : ''} ${expected}, got ${formatValue(input)}`;
  },
};

import * as z from 'zod/mini';
import { OrderBookError } from '../errors.ts';
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

/** Parses a value with a schema, or returns an error with the first invalid field and the reason. */
export function parseShape<T>(
  schema: z.ZodMiniType<T>,
  value: unknown,
  code: 'InvalidBody' | 'InvalidParameter' = 'InvalidBody',
): T | OrderBookError {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const { path, reason } = firstShapeError(result.error, value);
  return new OrderBookError(code, `${path === '' ? 'the body' : path} ${reason}`, { path }, 'shape');
}

/** Returns the first invalid field and the reason. The path of the whole value is empty. */
export function firstShapeError(
  error: z.core.$ZodError,
  value: unknown,
): { readonly path: string; readonly reason: string } {
  const [issue] = error.issues;
  if (issue === undefined) return { path: '', reason: 'is not valid' };
  return { path: issue.path.map(String).join('.'), reason: getReason(issue, value) };
}

function getReason(issue: z.core.$ZodIssue, value: unknown): string {
  if (getAtPath(value, issue.path) === undefined) return 'is missing';
  switch (issue.code) {
    case 'invalid_type':
      return `must be of type ${issue.expected}`;
    case 'invalid_value':
      return `must be one of ${issue.values.join(', ')}`;
    default:
      return issue.message;
  }
}

function getAtPath(value: unknown, path: readonly PropertyKey[]): unknown {
  let found = value;
  // A path from zod.
  for (const key of path) found = (found as Readonly<Record<PropertyKey, unknown>> | undefined)?.[key];
  return found;
}

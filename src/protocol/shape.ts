import * as z from 'zod/mini';
import { OrderBookError } from '../errors.ts';
import type { Hex } from './hex.ts';

/** The pattern before it has proven the shape. */
const LOWER = /* @__PURE__ */ z.transform((text: string) => text.toLowerCase() as Hex);

/** Hex text of a fixed size, read in either case, kept in lower case. */
export function hexSchema(size: number) {
  const pattern = new RegExp(`^0x[0-9a-fA-F]{${2 * size}}$`);
  const text = z.string().check(z.regex(pattern, { error: `must be 0x and ${2 * size} hex digits` }));
  return z.pipe(text, LOWER);
}

/** Hex text of any number of whole bytes. */
export function hex() {
  const text = z.string().check(z.regex(/^0x(?:[0-9a-fA-F]{2})*$/, { error: 'must be 0x and pairs of hex digits' }));
  return z.pipe(text, LOWER);
}

/** An amount as a string of decimal digits. Its size is judged apart, since that has codes of its own. */
export function amount() {
  return z.string().check(z.regex(/^[0-9]+$/, { error: 'must be decimal digits only' }));
}

/** Fits a value into a schema, or says with `code` which field is the first that does not fit, and why. */
export function parseShape<T>(
  schema: z.ZodMiniType<T>,
  value: unknown,
  code: 'InvalidBody' | 'InvalidParameter' = 'InvalidBody',
): T | OrderBookError {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const { path, reason } = firstShapeError(result.error, value);
  return new OrderBookError(code, `${path === '' ? 'the body' : path} ${reason}`, { path });
}

/** The first field that does not fit, and why. The path of the whole value is empty. */
export function firstShapeError(
  error: z.core.$ZodError,
  value: unknown,
): { readonly path: string; readonly reason: string } {
  const [issue] = error.issues;
  if (issue === undefined) return { path: '', reason: 'does not fit' };
  return { path: issue.path.map(String).join('.'), reason: reasonOf(issue, value) };
}

function reasonOf(issue: z.core.$ZodIssue, value: unknown): string {
  if (at(value, issue.path) === undefined) return 'is missing';
  switch (issue.code) {
    case 'invalid_type':
      return `must be of type ${issue.expected}`;
    case 'invalid_value':
      return `must be one of ${issue.values.join(', ')}`;
    default:
      return issue.message;
  }
}

function at(value: unknown, path: readonly PropertyKey[]): unknown {
  let found = value;
  for (const key of path) found = (found as Readonly<Record<PropertyKey, unknown>> | undefined)?.[key]; // zod walked here
  return found;
}

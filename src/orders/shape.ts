import { z } from 'zod';
import { OrderBookError } from '../errors.ts';
import type { Hex } from '../protocol/hex.ts';

/** Hex text of a fixed size, read in either case, kept in lower case. */
export function hexOf(size: number) {
  const pattern = new RegExp(`^0x[0-9a-fA-F]{${2 * size}}$`);
  return z
    .string()
    .regex(pattern, { error: `must be 0x and ${2 * size} hex digits` })
    .transform((text) => text.toLowerCase() as Hex); // the pattern has proven the shape
}

/** Hex text of any number of whole bytes. */
export function hex() {
  return z
    .string()
    .regex(/^0x(?:[0-9a-fA-F]{2})*$/, { error: 'must be 0x and pairs of hex digits' })
    .transform((text) => text.toLowerCase() as Hex); // the pattern has proven the shape
}

/** An amount as a string of decimal digits. Its size is judged apart, since that has codes of its own. */
export function amount() {
  return z.string({ error: 'must be a string of decimal digits' }).regex(/^[0-9]+$/, {
    error: 'must be a string of decimal digits',
  });
}

/** Fits a value into a schema, or says with `InvalidBody` which field is the first that does not fit, and why. */
export function parseShape<T>(schema: z.ZodType<T>, value: unknown): T | OrderBookError {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const path = issue === undefined ? '' : issue.path.map(String).join('.');
  const reason = issue === undefined ? 'does not fit' : issue.message;
  return new OrderBookError('InvalidBody', path === '' ? `the body ${lowerFirst(reason)}` : `${path}: ${reason}`, {
    path,
  });
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

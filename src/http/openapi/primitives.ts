import * as z from 'zod';

export const hexBytes = (size: number, what: string) =>
  z
    .string()
    .regex(new RegExp(`^0x[0-9a-f]{${2 * size}}$`))
    .describe(what);
export const address = (what = '20 bytes as hex.') => hexBytes(20, what);
export const tokenAtoms = (what: string) =>
  z
    .string()
    .regex(/^(?:0|[1-9][0-9]*)$/)
    .describe(`${what} In atoms, decimal.`);
/** Returns the schema of a decimal number as text. */
export const decimal = (what: string) =>
  z
    .string()
    .regex(/^[0-9]+(?:\.[0-9]+)?$/)
    .describe(what);
export const unixSeconds = (what: string) => z.int().min(0).describe(`${what} Seconds since 1970.`);
export const callData = () => z.string().regex(/^0x(?:[0-9a-f]{2})*$/);
/** Returns the schema of a time as text. */
export const moment = (what: string) =>
  z
    .string()
    .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    .meta({ description: `${what} ISO 8601 in UTC.`, format: 'date-time' });

/** Returns SQL for the part of an owner by which orders are indexed: the last seven bytes. */
export const ownerPrefix = (owner: string) => `substr(${owner}, 14)`;

/** The last creation date with an own position in the index of owners, in milliseconds. */
const MAX_DATE = 2 ** 47 - 1;

/**
 * Returns SQL for the creation date in two columns of two and four bytes, which sort like it up to {@link MAX_DATE}. In
 * the index of owners, they need eight bytes less than the date, because it would have to be aligned.
 */
export function splitDate(date: string) {
  const bounded = `greatest(least(${date}, ${MAX_DATE}), 0)`;
  return { high: `((${bounded} / 4294967296)::smallint)`, low: `((${bounded} % 4294967296 - 2147483648)::integer)` };
}

/**
 * Returns SQL for the orders `o` with the keys `k` of an array without duplicates. Each key is looked up in the index,
 * whatever the planner knows about the table.
 */
export const ordersByKey = (schema: string, keys: string) =>
  `unnest(${keys}) k (key) CROSS JOIN LATERAL (SELECT * FROM ${schema}.orders o WHERE o.key = k.key OFFSET 0) o`;

/** Returns SQL for the part of an owner by which orders are indexed and partitioned: the last seven bytes. */
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

/** Returns SQL for the part of the owner in a key by which orders, fills and tombstones are partitioned. */
export const ownerOfKey = (key: string) => `substr(${key}, 50)`;

/**
 * Returns the condition of the order with a key. The key is unique. Its owner is compared as well, so that the server
 * reads one partition: the last part of a key is the owner.
 */
export const isOrder = (order: string, key: string) =>
  `${order}.key = ${key} AND ${ownerPrefix(`${order}.owner`)} = ${ownerOfKey(key)}`;

/** Returns the condition of the fill or the tombstone with a key. */
export const isEntry = (entry: string, key: string) =>
  `${entry}.key = ${key} AND ${ownerOfKey(`${entry}.key`)} = ${ownerOfKey(key)}`;

/**
 * Returns SQL for the orders `o` with the keys `k` of an array without duplicates. Each key is looked up in the index
 * of one partition, whatever the planner knows about the table.
 */
export const ordersByKey = (schema: string, keys: string) =>
  `unnest(${keys}) k (key) CROSS JOIN LATERAL (SELECT * FROM ${schema}.orders o WHERE ${isOrder('o', 'k.key')} OFFSET 0) o`;

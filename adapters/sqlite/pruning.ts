import type { SqliteSession } from './session.ts';

/**
 * Creates a function that removes orders that ended before a time. The orders are found by creation date, which has an
 * index; only the few old orders with a late `valid_to` are skipped.
 */
export function createPruner({
  prefix: p,
  prepare,
  read,
  write,
}: SqliteSession): (before: number, limit: number) => number {
  const done = `${p}orders INDEXED BY ${p}orders_newest WHERE created < ? AND live = 0 AND valid_to < ?`;
  const any = prepare(`SELECT 1 FROM ${done} ORDER BY created LIMIT 1`).pluck();
  const due = prepare(`SELECT id FROM ${done} ORDER BY created, uid LIMIT ?`).pluck();
  const removeQuote = prepare(`DELETE FROM ${p}order_quotes WHERE order_id = ?`);
  const remove = prepare(`DELETE FROM ${p}orders WHERE id = ?`);

  return (before, limit) => {
    if (read('find old orders', () => any.get(before * 1000, before)) === undefined) return 0;
    return write('remove old orders', () => {
      const ids = due.all(before * 1000, before, limit);
      for (const id of ids) {
        removeQuote.run(id);
        remove.run(id);
      }
      return ids.length;
    });
  };
}

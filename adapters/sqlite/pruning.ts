import type { PruneRequest } from 'intentbook';
import { unpackUid } from 'intentbook/store-kit';
import { bufferToHex } from './rows.ts';
import type { SqliteSession } from './session.ts';

type OldRow = readonly [id: number, uid: Buffer, cancelledOffChain: number];

/**
 * Creates a function that removes orders that ended before a time. The orders are found by creation date, which has an
 * index; only the few old orders with a late `valid_to` are skipped.
 */
export function createPruner({ prefix: p, prepare, read, write }: SqliteSession): (request: PruneRequest) => number {
  const done = `${p}orders INDEXED BY ${p}orders_newest WHERE created < ? AND live = 0 AND valid_to < ?`;
  const any = prepare(`SELECT 1 FROM ${done} ORDER BY created LIMIT 1`).pluck();
  const due = prepare(`SELECT id, uid, cancelled_off_chain FROM ${done} ORDER BY created, uid LIMIT ?`).raw();
  const removeQuote = prepare(`DELETE FROM ${p}order_quotes WHERE order_id = ?`);
  const remove = prepare(`DELETE FROM ${p}orders WHERE id = ?`);
  const addTombstone = prepare(`INSERT OR IGNORE INTO ${p}tombstones (uid, valid_to) VALUES (?, ?)`);
  const anyTombstone = prepare(`SELECT 1 FROM ${p}tombstones WHERE valid_to < ? LIMIT 1`).pluck();
  const removeTombstones = prepare(
    `DELETE FROM ${p}tombstones WHERE uid IN (SELECT uid FROM ${p}tombstones WHERE valid_to < ? ORDER BY valid_to LIMIT ?)`,
  );

  function removeOrders(before: number, limit: number): number {
    if (read('find old orders', () => any.get(before * 1000, before)) === undefined) return 0;
    return write('remove old orders', () => {
      const rows = due.all(before * 1000, before, limit) as OldRow[]; // the columns selected
      for (const [id, uid, cancelledOffChain] of rows) {
        if (cancelledOffChain === 1) addTombstone.run(uid, unpackUid(bufferToHex(uid)).validTo);
        removeQuote.run(id);
        remove.run(id);
      }
      return rows.length;
    });
  }

  return ({ before, limit, tombstonesBefore }) => {
    if (tombstonesBefore !== undefined) {
      const due = read('find old tombstones', () => anyTombstone.get(tombstonesBefore));
      if (due !== undefined) write('remove old tombstones', () => removeTombstones.run(tombstonesBefore, limit));
    }
    return removeOrders(before, limit);
  };
}

/** Creates a function that counts all orders, or those that ended before a time. */
export function createOrderTotal({ prefix: p, prepare, read }: SqliteSession): (endedBefore?: number) => number {
  const all = prepare(`SELECT count(*) FROM ${p}orders`).pluck();
  const ended = prepare(`SELECT count(*) FROM ${p}orders WHERE created < ? AND live = 0 AND valid_to < ?`).pluck();
  return (before) =>
    read('count orders', () => Number(before === undefined ? all.get() : ended.get(before * 1000, before)));
}

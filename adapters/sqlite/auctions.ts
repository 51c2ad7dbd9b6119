import type {
  CompleteCompetition,
  NewAuction,
  StoredAuction,
  StoredCompetition,
  StoredCompetitionQuery,
} from 'intentbook';
import { bufferToHex, toBytes } from './rows.ts';
import type { SqliteSession } from './session.ts';

/** Creates the operations of `AuctionStore`. Each is synchronous and one atomic step. */
export function createAuctionTable({ prefix: p, prepare, read, write }: SqliteSession) {
  // AUTOINCREMENT never assigns an id twice.
  const insert = prepare(
    `INSERT INTO ${p}auctions (id, block, prices) VALUES ` +
      `(max(?, 1 + coalesce((SELECT seq FROM sqlite_sequence WHERE name = '${p}auctions'), 0)), ?, ?)`,
  );
  const deleteOldAuctions = prepare(
    `DELETE FROM ${p}auctions WHERE id <= (SELECT id FROM ${p}auctions ORDER BY id DESC LIMIT 1 OFFSET ?)`,
  );
  const byId = prepare(`SELECT id, block, prices FROM ${p}auctions WHERE id = ?`).raw();
  const exists = prepare(`SELECT 1 FROM ${p}competitions WHERE auction = ?`).pluck();
  const record = prepare(
    `INSERT INTO ${p}competitions (auction, deadline, body, orders) VALUES (?, ?, ?, ?) ON CONFLICT (auction) ` +
      'DO UPDATE SET deadline = excluded.deadline, body = excluded.body, orders = excluded.orders',
  );
  const deleteOldCompetitions = prepare(
    `DELETE FROM ${p}competitions WHERE auction <= ` +
      `(SELECT auction FROM ${p}competitions ORDER BY auction DESC LIMIT 1 OFFSET ?)`,
  );
  const selectCompetition = prepare(`SELECT deadline, body, orders FROM ${p}competitions WHERE auction = ?`).raw();
  const selectLast = prepare(`SELECT coalesce(max(auction), 0) FROM ${p}competitions`).pluck();
  const newest = `SELECT auction, deadline, body FROM ${p}competitions`;
  const selectNewest = prepare(`${newest} WHERE deadline < ? ORDER BY auction DESC LIMIT ?`).raw();
  // Few competitions wait for their deadline. The planner would read all others before them.
  const selectPending = prepare(
    `${newest} INDEXED BY ${p}competitions_deadline WHERE deadline > ? AND deadline < ? ORDER BY auction DESC LIMIT ?`,
  ).raw();

  return {
    insert: ({ block, prices }: NewAuction, keep: number, least: number): number =>
      write('store an auction', () => {
        const { lastInsertRowid } = insert.run(least, block, prices);
        deleteOldAuctions.run(keep);
        return Number(lastInsertRowid);
      }),

    get: (id: number): StoredAuction | undefined =>
      read('read an auction', () => {
        const row = byId.get(id) as readonly [number, number, string] | undefined; // the columns selected
        return row && { id: row[0], block: row[1], prices: row[2] };
      }),

    record: ({ auctionId, deadline, body, orders }: CompleteCompetition, keep: number): 'recorded' | 'replaced' =>
      write('record a competition', () => {
        const isNew = exists.get(auctionId) === undefined;
        record.run(auctionId, deadline, body, orders === undefined ? null : toBytes(orders));
        deleteOldCompetitions.run(keep);
        return isNew ? 'recorded' : 'replaced';
      }),

    competition: (auctionId: number): CompleteCompetition | undefined =>
      read('read a competition', () => {
        // The columns selected.
        const row = selectCompetition.get(auctionId) as readonly [number, string, Buffer | null] | undefined;
        if (row === undefined) return undefined;
        const [deadline, body, orders] = row;
        return { auctionId, deadline, body, orders: orders === null ? undefined : bufferToHex(orders) };
      }),

    lastCompetition: (): number => read('read the id of the last competition', () => Number(selectLast.get())),

    competitions: ({
      limit,
      deadlineAbove,
      deadlineBelow = Number.MAX_SAFE_INTEGER,
    }: StoredCompetitionQuery): StoredCompetition[] =>
      read('read competitions', () => {
        const rows =
          deadlineAbove === undefined
            ? selectNewest.all(deadlineBelow, limit)
            : selectPending.all(deadlineAbove, deadlineBelow, limit);
        // The columns selected.
        return (rows as (readonly [number, number, string])[]).map(([auctionId, deadline, body]) => {
          return { auctionId, deadline, body };
        });
      }),
  };
}

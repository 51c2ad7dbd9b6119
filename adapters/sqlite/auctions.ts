import type { Hex, StoredAuction, StoredCompetition } from 'intentbook';
import { hexOrNull, toBytes } from './rows.ts';
import type { BookOperations, SqliteSession } from './session.ts';

/** Creates the operations of `AuctionStore`. Each is synchronous and one atomic step. */
export function createAuctionTable({ prefix: p, prepare, read, write }: SqliteSession): BookOperations['auctions'] {
  // AUTOINCREMENT never assigns an id twice.
  const insert = prepare(
    `INSERT INTO ${p}auctions (id, block, prices) VALUES ` +
      `(max(?, 1 + coalesce((SELECT seq FROM sqlite_sequence WHERE name = '${p}auctions'), 0)), ?, ?)`,
  );
  const deleteOldAuctions = prepare(
    `DELETE FROM ${p}auctions WHERE id <= (SELECT id FROM ${p}auctions ORDER BY id DESC LIMIT 1 OFFSET ?)`,
  );
  const byId = prepare(`SELECT id, block, prices FROM ${p}auctions WHERE id = ?`);
  const exists = prepare(`SELECT 1 FROM ${p}competitions WHERE auction = ?`).pluck();
  const record = prepare(
    `INSERT INTO ${p}competitions (auction, deadline, body, orders) VALUES (?, ?, ?, ?) ON CONFLICT (auction) ` +
      'DO UPDATE SET deadline = excluded.deadline, body = excluded.body, orders = excluded.orders',
  );
  const deleteOldCompetitions = prepare(
    `DELETE FROM ${p}competitions WHERE auction <= ` +
      `(SELECT auction FROM ${p}competitions ORDER BY auction DESC LIMIT 1 OFFSET ?)`,
  );
  const selectCompetition = prepare(
    `SELECT deadline, body, ${hexOrNull('orders')} AS orders FROM ${p}competitions WHERE auction = ?`,
  );
  const selectLast = prepare(`SELECT coalesce(max(auction), 0) FROM ${p}competitions`).pluck();
  const newest = `SELECT auction AS auctionId, deadline, body FROM ${p}competitions`;
  const selectNewest = prepare(`${newest} WHERE deadline < ? ORDER BY auction DESC LIMIT ?`);
  // Few competitions wait for their deadline. The planner would read all others before them.
  const selectPending = prepare(
    `${newest} INDEXED BY ${p}competitions_deadline WHERE deadline > ? AND deadline < ? ORDER BY auction DESC LIMIT ?`,
  );

  return {
    insert: ({ block, prices }, keep, least) =>
      write('store an auction', () => {
        const { lastInsertRowid } = insert.run(least, block, prices);
        deleteOldAuctions.run(keep);
        return Number(lastInsertRowid);
      }),

    // The columns selected.
    get: (id) => read('read an auction', () => byId.get(id) as StoredAuction | undefined),

    record: ({ auctionId, deadline, body, orders }, keep) =>
      write('record a competition', () => {
        const isNew = exists.get(auctionId) === undefined;
        record.run(auctionId, deadline, body, orders === undefined ? null : toBytes(orders));
        deleteOldCompetitions.run(keep);
        return isNew ? 'recorded' : 'replaced';
      }),

    competition: (auctionId) =>
      read('read a competition', () => {
        const row = selectCompetition.get(auctionId) as CompetitionRow | undefined; // the columns selected
        return row && { auctionId, ...row, orders: row.orders ?? undefined };
      }),

    lastCompetition: () => read('read the id of the last competition', () => Number(selectLast.get())),

    competitions: ({ limit, deadlineAbove, deadlineBelow = Number.MAX_SAFE_INTEGER }) =>
      read('read competitions', () => {
        const rows =
          deadlineAbove === undefined
            ? selectNewest.all(deadlineBelow, limit)
            : selectPending.all(deadlineAbove, deadlineBelow, limit);
        return rows as StoredCompetition[]; // the columns selected
      }),
  };
}

interface CompetitionRow extends Omit<StoredCompetition, 'auctionId'> {
  readonly orders: Hex | null;
}

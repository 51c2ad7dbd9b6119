import type { NewAuction, StoredAuction, StoredCompetition, StoredCompetitionQuery } from 'intentbook';
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
    `INSERT INTO ${p}competitions (auction, deadline, body) VALUES (?, ?, ?) ` +
      'ON CONFLICT (auction) DO UPDATE SET deadline = excluded.deadline, body = excluded.body',
  );
  const deleteOldCompetitions = prepare(
    `DELETE FROM ${p}competitions WHERE auction <= ` +
      `(SELECT auction FROM ${p}competitions ORDER BY auction DESC LIMIT 1 OFFSET ?)`,
  );
  const selectCompetition = prepare(`SELECT auction, deadline, body FROM ${p}competitions WHERE auction = ?`).raw();
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

    record: ({ auctionId, deadline, body }: StoredCompetition, keep: number): 'recorded' | 'replaced' =>
      write('record a competition', () => {
        const isNew = exists.get(auctionId) === undefined;
        record.run(auctionId, deadline, body);
        deleteOldCompetitions.run(keep);
        return isNew ? 'recorded' : 'replaced';
      }),

    competition: (auctionId: number): StoredCompetition | undefined =>
      // The columns selected.
      read('read a competition', () => readCompetition(selectCompetition.get(auctionId) as CompetitionRow | undefined)),

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
        return (rows as CompetitionRow[]).map((row) => readCompetition(row)); // likewise
      }),
  };
}

type CompetitionRow = readonly [auction: number, deadline: number, body: string];

function readCompetition(row: CompetitionRow): StoredCompetition;
function readCompetition(row: CompetitionRow | undefined): StoredCompetition | undefined;
function readCompetition(row: CompetitionRow | undefined): StoredCompetition | undefined {
  return row && { auctionId: row[0], deadline: row[1], body: row[2] };
}

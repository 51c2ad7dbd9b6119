import type { NewAuction, StoredAuction, StoredCompetition } from 'intentbook';
import type { SqliteSession } from './session.ts';

/** Tables of auctions and competitions, as in `AuctionStore`. Each method is synchronous and one atomic step. */
export interface AuctionTable {
  insert(auction: NewAuction, keep: number): number;
  get(id: number): StoredAuction | undefined;
  record(competition: StoredCompetition, keep: number): 'recorded' | 'replaced';
  competition(auctionId: number): StoredCompetition | undefined;
  competitions(limit: number): StoredCompetition[];
}

/** Creates the operations on auctions and competitions. */
export function createAuctionTable({ prefix: p, prepare, read, write }: SqliteSession): AuctionTable {
  const insert = prepare(`INSERT INTO ${p}auctions (block, prices) VALUES (?, ?)`);
  const deleteOldAuctions = prepare(
    `DELETE FROM ${p}auctions WHERE id <= (SELECT id FROM ${p}auctions ORDER BY id DESC LIMIT 1 OFFSET ?)`,
  );
  const byId = prepare(`SELECT id, block, prices FROM ${p}auctions WHERE id = ?`).raw();
  const exists = prepare(`SELECT 1 FROM ${p}competitions WHERE auction = ?`).pluck();
  const record = prepare(
    `INSERT INTO ${p}competitions (auction, body) VALUES (?, ?) ON CONFLICT (auction) DO UPDATE SET body = excluded.body`,
  );
  const deleteOldCompetitions = prepare(
    `DELETE FROM ${p}competitions WHERE auction <= ` +
      `(SELECT auction FROM ${p}competitions ORDER BY auction DESC LIMIT 1 OFFSET ?)`,
  );
  const selectCompetition = prepare(`SELECT auction, body FROM ${p}competitions WHERE auction = ?`).raw();
  const selectNewest = prepare(`SELECT auction, body FROM ${p}competitions ORDER BY auction DESC LIMIT ?`).raw();

  return {
    insert: ({ block, prices }, keep) =>
      write('store an auction', () => {
        const { lastInsertRowid } = insert.run(block, prices);
        deleteOldAuctions.run(keep);
        return Number(lastInsertRowid);
      }),

    get: (id) =>
      read('read an auction', () => {
        const row = byId.get(id) as readonly [number, number, string] | undefined; // the columns selected
        return row && { id: row[0], block: row[1], prices: row[2] };
      }),

    record: ({ auctionId, body }, keep) =>
      write('record a competition', () => {
        const isNew = exists.get(auctionId) === undefined;
        record.run(auctionId, body);
        deleteOldCompetitions.run(keep);
        return isNew ? 'recorded' : 'replaced';
      }),

    competition: (auctionId) =>
      // The columns selected.
      read('read a competition', () => readCompetition(selectCompetition.get(auctionId) as CompetitionRow | undefined)),

    competitions: (limit) =>
      // Likewise.
      read('read competitions', () => (selectNewest.all(limit) as CompetitionRow[]).map((row) => readCompetition(row))),
  };
}

type CompetitionRow = readonly [auction: number, body: string];

function readCompetition(row: CompetitionRow): StoredCompetition;
function readCompetition(row: CompetitionRow | undefined): StoredCompetition | undefined;
function readCompetition(row: CompetitionRow | undefined): StoredCompetition | undefined {
  return row && { auctionId: row[0], body: row[1] };
}

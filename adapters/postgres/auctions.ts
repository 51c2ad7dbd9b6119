import type { AuctionStore, StoredCompetition } from 'intentbook';
import type { PostgresSession } from './session.ts';

/** Creates the auction operations. Reads use the primary: a replica may lack the auction of a recent settlement. */
export function createAuctionTable({ schema: s, prepare, read, write }: PostgresSession): AuctionStore {
  const insert = prepare<readonly [number]>(`INSERT INTO ${s}.auctions (block, prices) VALUES ($1, $2) RETURNING id`);
  const deleteOldAuctions = prepare(
    `DELETE FROM ${s}.auctions WHERE id <= (SELECT id FROM ${s}.auctions ORDER BY id DESC LIMIT 1 OFFSET $1)`,
  );
  const byId = prepare<readonly [id: number, block: number, prices: string]>(
    `SELECT id, block, prices FROM ${s}.auctions WHERE id = $1`,
  );
  const record = prepare<readonly [number]>(
    `INSERT INTO ${s}.competitions (auction, body) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING auction`,
  );
  const replace = prepare(`UPDATE ${s}.competitions SET body = $2 WHERE auction = $1`);
  const deleteOldCompetitions = prepare(
    `DELETE FROM ${s}.competitions WHERE auction <= ` +
      `(SELECT auction FROM ${s}.competitions ORDER BY auction DESC LIMIT 1 OFFSET $1)`,
  );
  const selectCompetition = prepare<CompetitionRow>(`SELECT auction, body FROM ${s}.competitions WHERE auction = $1`);
  const selectNewest = prepare<CompetitionRow>(
    `SELECT auction, body FROM ${s}.competitions ORDER BY auction DESC LIMIT $1`,
  );

  return {
    insert: ({ block, prices }, keep) =>
      write('store an auction', async (run) => {
        const [row] = await run(insert, block, prices);
        if (row === undefined) throw new Error('the server returned no id for an auction');
        await run(deleteOldAuctions, keep);
        return row[0];
      }),

    get: (id) =>
      read('read an auction', async (run) => {
        const [row] = await run(byId, id);
        return row && { id: row[0], block: row[1], prices: row[2] };
      }),

    record: ({ auctionId, body }, keep) =>
      write('record a competition', async (run) => {
        const [row] = await run(record, auctionId, body);
        if (row === undefined) await run(replace, auctionId, body);
        await run(deleteOldCompetitions, keep);
        return row === undefined ? 'replaced' : 'recorded';
      }),

    competition: (auctionId) =>
      read('read a competition', async (run) => (await run(selectCompetition, auctionId)).map(readCompetition)[0]),

    competitions: (limit) =>
      read('read competitions', async (run) => (await run(selectNewest, limit)).map(readCompetition)),
  };
}

type CompetitionRow = readonly [auction: number, body: string];

const readCompetition = ([auctionId, body]: CompetitionRow): StoredCompetition => ({ auctionId, body });

import type { AuctionStore, CompleteCompetition, Hex, StoredAuction, StoredCompetition } from 'intentbook';
import { toBytes } from './rows.ts';
import type { PostgresSession } from './session.ts';

/** Creates the auction operations. Reads use the primary: a replica may lack the auction of a recent settlement. */
export function createAuctionTable(session: PostgresSession): AuctionStore {
  const { schema: s, prepare, prepareObjects, read, write } = session;
  // The id follows from the stored ones, so one transaction at a time inserts.
  const lock = prepare(`LOCK TABLE ${s}.auctions IN SHARE ROW EXCLUSIVE MODE`);
  const insert = prepare<readonly [number]>(
    `INSERT INTO ${s}.auctions (id, block, prices) OVERRIDING SYSTEM VALUE VALUES ` +
      `(greatest($3::bigint, (SELECT max(id) + 1 FROM ${s}.auctions), 1), $1, $2) RETURNING id`,
  );
  const deleteOldAuctions = prepare(
    `DELETE FROM ${s}.auctions WHERE id <= (SELECT id FROM ${s}.auctions ORDER BY id DESC LIMIT 1 OFFSET $1)`,
  );
  const byId = prepareObjects<StoredAuction>(`SELECT id, block, prices FROM ${s}.auctions WHERE id = $1`);
  const record = prepare<readonly [number]>(
    `INSERT INTO ${s}.competitions (auction, deadline, body, orders) VALUES ($1, $2, $3, $4) ` +
      'ON CONFLICT DO NOTHING RETURNING auction',
  );
  const replace = prepare(`UPDATE ${s}.competitions SET deadline = $2, body = $3, orders = $4 WHERE auction = $1`);
  const deleteOldCompetitions = prepare(
    `DELETE FROM ${s}.competitions WHERE auction <= ` +
      `(SELECT auction FROM ${s}.competitions ORDER BY auction DESC LIMIT 1 OFFSET $1)`,
  );
  const columns = `SELECT auction AS "auctionId", deadline, body FROM ${s}.competitions`;
  const selectCompetition = prepareObjects<Omit<CompleteCompetition, 'orders'> & { readonly orders: Hex | null }>(
    `SELECT auction AS "auctionId", deadline, body, orders FROM ${s}.competitions WHERE auction = $1`,
  );
  const selectLast = prepare<readonly [number]>(`SELECT coalesce(max(auction), 0) FROM ${s}.competitions`);
  const selectNewest = prepareObjects<StoredCompetition>(
    `${columns} WHERE deadline < $2 ORDER BY auction DESC LIMIT $1`,
  );
  // Few competitions wait for their deadline. `OFFSET 0` keeps the planner from reading all others before them.
  const selectPending = prepareObjects<StoredCompetition>(
    `SELECT * FROM (${columns} WHERE deadline > $3 OFFSET 0) c WHERE deadline < $2 ORDER BY "auctionId" DESC LIMIT $1`,
  );

  return {
    insert: ({ block, prices }, keep, least) =>
      write('store an auction', async (run) => {
        await run(lock);
        const [row] = await run(insert, block, prices, least);
        if (row === undefined) throw new Error('the server returned no id for an auction');
        await run(deleteOldAuctions, keep);
        return row[0];
      }),

    get: (id) => read('read an auction', async (run) => (await run(byId, id))[0]),

    record: ({ auctionId, deadline, body, orders }, keep) =>
      write('record a competition', async (run) => {
        const uids = orders === undefined ? null : toBytes(orders);
        const [row] = await run(record, auctionId, deadline, body, uids);
        if (row === undefined) await run(replace, auctionId, deadline, body, uids);
        await run(deleteOldCompetitions, keep);
        return row === undefined ? 'replaced' : 'recorded';
      }),

    competition: (auctionId) =>
      read('read a competition', async (run) => {
        const [row] = await run(selectCompetition, auctionId);
        return row && { ...row, orders: row.orders ?? undefined };
      }),

    lastCompetition: () =>
      read('read the id of the last competition', async (run) => (await run(selectLast))[0]?.[0] ?? 0),

    competitions: ({ limit, deadlineAbove, deadlineBelow = Number.MAX_SAFE_INTEGER }) =>
      read('read competitions', (run) =>
        deadlineAbove === undefined
          ? run(selectNewest, limit, deadlineBelow)
          : run(selectPending, limit, deadlineBelow, deadlineAbove),
      ),
  };
}

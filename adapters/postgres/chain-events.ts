import type {
  Address,
  ChainEvent,
  Hex,
  OrderChainEvent,
  SettlementChainEvent,
  TradeChainEvent,
  TradeQuery,
} from 'intentbook';
import type { ChainEventRow } from 'intentbook/store-kit';
import {
  CHAIN_EVENT_TYPES,
  firstTradeBlocks,
  formatChainEventDetail,
  getAffectedUids,
  isOrderChainEvent,
  readChainEvent,
} from 'intentbook/store-kit';
import type { Query } from './query.ts';
import { PLACEMENT, SETTLEMENT, TRADE, toByteArray, toBytes, toKey, toNumberArray, toUid } from './rows.ts';
import type { PostgresSession } from './session.ts';

export type PgChainEventTable = ReturnType<typeof createChainEventTable>;

/** Formats the log position of a chain event as a map key. */
export const formatLogPosition = ({ blockNumber, logIndex }: ChainEvent) => `${blockNumber} ${logIndex}`;

function prepareStatements({ schema: s, prepare }: PostgresSession) {
  const columns = 'f.block, f.log, f.block_hash, f.transaction_hash, f."timestamp", f.type, f.key, f.owner, f.detail';
  // A trade has the account that placed its order on chain, so that the trades of an account need no join.
  const getUser = (key: string) =>
    `(SELECT p.onchain_user FROM ${s}.chain_events p WHERE p.key = ${key} AND p.type = ${PLACEMENT} ` +
    'ORDER BY p.block, p.log LIMIT 1)';
  const page = `AND f.type = ${TRADE} AND (f.block, f.log) < ($4, $5) ORDER BY f.block DESC, f.log DESC LIMIT $2 OFFSET $3`;
  const part = (from: string) =>
    `(SELECT ${columns} FROM ${from} AND f.type = ${TRADE} AND (f.block, f.log) < ($4, $5) ` +
    'ORDER BY f.block DESC, f.log DESC LIMIT $2::bigint + $3::bigint)';
  return {
    insert: prepare(
      `INSERT INTO ${s}.chain_events AS f (block, log, block_hash, transaction_hash, "timestamp", type, key, owner, detail, ` +
        'auction, onchain_user) ' +
        'SELECT block, log, block_hash, transaction_hash, "timestamp", type, key, owner, detail, auction, ' +
        `CASE WHEN type = ${TRADE} THEN ${getUser('e.key')} ELSE onchain_user END ` +
        'FROM unnest($1::bigint[], $2::integer[], $3::bytea[], $4::bytea[], $5::bigint[], $6::smallint[], ' +
        '$7::bytea[], $8::bytea[], $9::text[], $10::bigint[], $11::bytea[]) ' +
        'e (block, log, block_hash, transaction_hash, "timestamp", type, key, owner, detail, auction, onchain_user) ',
    ),
    assignUsers: prepare(
      `UPDATE ${s}.chain_events t SET onchain_user = ${getUser('t.key')} ` +
        `WHERE t.key = ANY($1::bytea[]) AND t.type = ${TRADE}`,
    ),
    // Each key is looked up in the index, whatever the planner knows about the table.
    selectByKeys: prepare<ChainEventRow>(
      `SELECT ${columns} FROM unnest($1::bytea[]) k (key) CROSS JOIN LATERAL ` +
        `(SELECT * FROM ${s}.chain_events f WHERE f.key = k.key OFFSET 0) f ORDER BY f.block, f.log`,
    ),
    selectOfBlocks: prepare<ChainEventRow>(
      `SELECT ${columns} FROM ${s}.chain_events f WHERE f.block = ANY($1::bigint[])`,
    ),
    hashes: prepare<readonly [number, Hex]>(
      `SELECT n, coalesce((SELECT b.hash FROM ${s}.blocks b WHERE b.number = n), ` +
        `(SELECT f.block_hash FROM ${s}.chain_events f WHERE f.block = n ` +
        `AND f.block_hash <> decode(repeat('00', 32), 'hex') LIMIT 1)) FROM unnest($1::bigint[]) n ` +
        `WHERE n <= greatest($2, (SELECT max(block) FROM ${s}.chain_events))`,
    ),
    removeAdopted: prepare<ChainEventRow>(
      `DELETE FROM ${s}.chain_events f WHERE f.block > $1 AND f.block <= $2 ` +
        `AND f.block_hash = decode(repeat('00', 32), 'hex') RETURNING ${columns}`,
    ),
    remove: prepare(
      `DELETE FROM ${s}.chain_events WHERE (block, log) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[]))`,
    ),
    lastLog: prepare<readonly [number]>(`SELECT coalesce(max(log), -1) FROM ${s}.chain_events WHERE block = $1`),
    removeAbove: prepare<ChainEventRow>(`DELETE FROM ${s}.chain_events f WHERE f.block > $1 RETURNING ${columns}`),
    tradesOfUid: prepare<ChainEventRow>(`SELECT ${columns} FROM ${s}.chain_events f WHERE f.key = $1 ${page}`),
    tradesOfTransaction: prepare<ChainEventRow>(
      `SELECT ${columns} FROM ${s}.chain_events f WHERE f.transaction_hash = $1 ${page}`,
    ),
    tradesOfAccount: prepare<ChainEventRow>(
      `SELECT * FROM (${part(`${s}.chain_events f WHERE f.owner = $1`)} UNION ` +
        `${part(`${s}.chain_events f WHERE f.onchain_user = $1`)}) f ` +
        'ORDER BY f.block DESC, f.log DESC LIMIT $2::bigint OFFSET $3::bigint',
    ),
    settlements: prepare<ChainEventRow>(
      `SELECT ${columns} FROM ${s}.chain_events f WHERE f.transaction_hash = $1 AND f.type = ${SETTLEMENT} ORDER BY f.block, f.log`,
    ),
    selectByAuction: prepare<ChainEventRow>(
      `SELECT ${columns} FROM ${s}.chain_events f WHERE f.auction = $1 ORDER BY f.block, f.log`,
    ),
    insertFirstTrades: prepare(
      `INSERT INTO ${s}.first_trades AS t (token, block) SELECT * FROM unnest($1::bytea[], $2::bigint[]) ` +
        'ON CONFLICT (token) DO UPDATE SET block = excluded.block WHERE excluded.block < t.block',
    ),
    deleteFirstTradesAbove: prepare(`DELETE FROM ${s}.first_trades WHERE block > $1`),
    firstTrade: prepare<readonly [number]>(`SELECT block FROM ${s}.first_trades WHERE token = $1`),
  };
}

export function createChainEventTable(session: PostgresSession) {
  const sql = prepareStatements(session);

  return {
    /** Stores chain events. Their log positions must be free. */
    async add(run: Query, events: readonly ChainEvent[]): Promise<void> {
      if (events.length === 0) return;
      const placed = getAffectedUids(events.filter(({ type }) => type === 'placement'));
      await run(
        sql.insert,
        toNumberArray(events.map(({ blockNumber }) => blockNumber)),
        toNumberArray(events.map(({ logIndex }) => logIndex)),
        toByteArray(events.map(({ blockHash }) => toBytes(blockHash))),
        toByteArray(events.map(({ transactionHash }) => toBytes(transactionHash))),
        toNumberArray(events.map(({ timestamp }) => timestamp)),
        toNumberArray(events.map(({ type }) => CHAIN_EVENT_TYPES.indexOf(type))),
        events.map((event) => (isOrderChainEvent(event) ? toKey(event.uid) : null)),
        events.map((event) => (event.type === 'trade' ? toBytes(event.owner) : null)),
        events.map(formatChainEventDetail),
        toNumberArray(events.map((event) => (event.type === 'settlement' ? event.auctionId : null))),
        events.map((event) => (event.type === 'placement' ? toBytes(event.sender) : null)),
      );
      if (placed.length > 0) await run(sql.assignUsers, toByteArray(placed.map(toKey)));
      const firstTrades = [...firstTradeBlocks(events)];
      if (firstTrades.length > 0) {
        await run(
          sql.insertFirstTrades,
          firstTrades.map(([token]) => toBytes(token)),
          firstTrades.map(([, block]) => block),
        );
      }
    },

    /** Deletes the events without the hash of their block, after one block up to another, and returns them. */
    removeAdopted: async (
      run: Query,
      { after, through }: { readonly after: number; readonly through: number },
    ): Promise<readonly ChainEvent[]> => (await run(sql.removeAdopted, after, through)).map(readRow),

    async remove(run: Query, events: readonly ChainEvent[]): Promise<void> {
      if (events.length === 0) return;
      await run(
        sql.remove,
        events.map(({ blockNumber }) => blockNumber),
        events.map(({ logIndex }) => logIndex),
      );
    },

    /** Returns the greatest log index of a block; -1 if it has no events. */
    lastLog: async (run: Query, block: number): Promise<number> => (await run(sql.lastLog, block))[0]?.[0] ?? -1,

    listOfBlocks: async (run: Query, blocks: readonly number[]): Promise<readonly ChainEvent[]> =>
      (await run(sql.selectOfBlocks, blocks)).map(readRow),

    async listByOrders(run: Query, uids: readonly Hex[]): Promise<ReadonlyMap<Hex, readonly OrderChainEvent[]>> {
      const byOrder = new Map<Hex, OrderChainEvent[]>(uids.map((uid) => [uid, []]));
      const rows = uids.length === 0 ? [] : await run(sql.selectByKeys, toByteArray(uids.map(toKey)));
      for (const event of rows.map(readRow)) if (isOrderChainEvent(event)) byOrder.get(event.uid)?.push(event);
      return byOrder;
    },

    /**
     * Returns the stored hashes of the given blocks.
     *
     * @param indexedBlock - Above it, only blocks with events have hashes: a rollback may keep events above the next
     * checkpoint.
     */
    async hashes(run: Query, blocks: readonly number[], indexedBlock: number): Promise<ReadonlyMap<number, Hex>> {
      const rows = await run(sql.hashes, blocks, indexedBlock);
      return new Map(rows.filter(([, hash]) => hash !== null));
    },

    async removeAbove(run: Query, block: number): Promise<readonly ChainEvent[]> {
      await run(sql.deleteFirstTradesAbove, block);
      const removed = (await run(sql.removeAbove, block)).map(readRow);
      const placed = getAffectedUids(removed.filter(({ type }) => type === 'placement'));
      if (placed.length > 0) await run(sql.assignUsers, toByteArray(placed.map(toKey)));
      return removed;
    },

    firstTrade: async (run: Query, token: Address): Promise<number | undefined> =>
      (await run(sql.firstTrade, toBytes(token)))[0]?.[0],

    async trades(run: Query, { filter, after, limit, offset = 0 }: TradeQuery): Promise<TradeChainEvent[]> {
      const page = [limit, offset, after?.blockNumber ?? Number.MAX_SAFE_INTEGER, after?.logIndex ?? 0];
      let rows: readonly ChainEventRow[];
      if ('uid' in filter) rows = await run(sql.tradesOfUid, toKey(filter.uid), ...page);
      else if ('account' in filter) rows = await run(sql.tradesOfAccount, toBytes(filter.account), ...page);
      else rows = await run(sql.tradesOfTransaction, toBytes(filter.transactionHash), ...page);
      return rows.map(readRow).filter((event) => event.type === 'trade');
    },

    settlementsOfAuction: async (run: Query, auctionId: number): Promise<SettlementChainEvent[]> =>
      (await run(sql.selectByAuction, auctionId)).map(readRow).filter((event) => event.type === 'settlement'),

    settlements: async (run: Query, hash: Hex): Promise<SettlementChainEvent[]> =>
      (await run(sql.settlements, toBytes(hash))).map(readRow).filter((event) => event.type === 'settlement'),
  };
}

/** Converts the key of a row to the UID, and the rest like every store. */
function readRow([
  block,
  log,
  blockHash,
  transactionHash,
  timestamp,
  type,
  key,
  owner,
  detail,
]: ChainEventRow): ChainEvent {
  const uid = key === null ? null : toUid(key);
  return readChainEvent([block, log, blockHash, transactionHash, timestamp, type, uid, owner, detail]);
}

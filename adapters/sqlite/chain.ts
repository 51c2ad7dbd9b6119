import type {
  Address,
  BlockRef,
  ChainEvent,
  Hex,
  OrderChainEvent,
  SettlementChainEvent,
  TradeChainEvent,
  TradeQuery,
} from 'intentbook';
import {
  CHAIN_EVENT_TYPES,
  type ChainEventRow,
  type ChainTables,
  createChainOperations,
  firstTradeBlocks,
  formatChainEventDetail,
  getEndTime,
  getPlacementVersion,
  isOrderChainEvent,
  readChainEvent,
} from 'intentbook/store-kit';
import type { EventTable } from './events.ts';
import type { OrderProjectionTable } from './order-projection.ts';
import type { AppDataTable } from './orders.ts';
import { hexOrNull, SETTLEMENT, TRADE, toBytes, toHexText } from './rows.ts';
import type { BookOperations, SqliteSession } from './session.ts';

/** Creates the operations on chain events, which update the orders that they affect. All are synchronous. */
export function createChainStore(
  session: SqliteSession,
  projection: OrderProjectionTable,
  documents: AppDataTable,
  events: EventTable,
) {
  const { read, write } = session;
  const chainEvents = createChainEventTable(session);
  const firstTrades = createFirstTradeTable(session);
  const operations = createChainOperations({
    events: chainEvents,
    blocks: createBlockTable(session),
    firstTrades,
    orders: {
      find: (uid) => projection.find(toBytes(uid)),
      change(change) {
        if (change.type === 'insert') documents.refer(change.order.appData, getEndTime(change.order), undefined);
        projection.change(change, () => getPlacementVersion(events.last()));
      },
      record: events.record,
    },
  });
  const chain: BookOperations['chain'] = {
    progress: () => read('read the progress of the indexer', operations.progress),
    blocks: () => read('read the hashes of blocks', operations.blocks),
    apply: (batch) => write('apply chain events', () => operations.apply(batch)),
    adopt: (adopted, at, complete) => write('adopt chain events', () => operations.adopt(adopted, at, complete)),
    rollback: (request) => write('roll back chain events', () => operations.rollback(request)),
    trades: (query) => read('read trades', () => chainEvents.trades(query)),
    firstTrade: (token) => read('read the first trade of a token', () => firstTrades.get(token)),
    settlements: (hash) => read('read settlements', () => chainEvents.settlements(hash)),
    settlementsOfAuction: (id) => read('read settlements', () => chainEvents.settlementsOfAuction(id)),
  };
  return { chain, listEventsOfOrder: chainEvents.listByOrder, projectNewOrder: operations.projectNewOrder };
}

/** Creates the operations on the progress of the indexer and the hashes of blocks, within a transaction or a read. */
function createBlockTable({ prefix: p, prepare }: SqliteSession): ChainTables['blocks'] {
  const selectCheckpoint = prepare(`SELECT number, ${hexOrNull('hash')} AS hash FROM ${p}progress`);
  const setCheckpoint = prepare(
    `INSERT INTO ${p}progress (id, number, hash) VALUES (1, ?, ?) ` +
      'ON CONFLICT (id) DO UPDATE SET number = excluded.number, hash = excluded.hash',
  );
  const newestFirst = `SELECT number, ${toHexText('hash')} AS hash FROM ${p}blocks ORDER BY number DESC`;
  const selectBlocks = prepare(newestFirst);
  const selectNewestBlock = prepare(`${newestFirst} LIMIT 1`);
  const selectHash = prepare(`SELECT ${toHexText('hash')} FROM ${p}blocks WHERE number = ?`).pluck();
  const insertBlock = prepare(`INSERT INTO ${p}blocks (number, hash) VALUES (?, ?) ON CONFLICT (number) DO NOTHING`);
  const deleteBlocksBelow = prepare(`DELETE FROM ${p}blocks WHERE number < ?`);
  const deleteBlocksAbove = prepare(`DELETE FROM ${p}blocks WHERE number > ?`);

  return {
    // The columns selected.
    checkpoint: () => selectCheckpoint.get() as ReturnType<ChainTables['blocks']['checkpoint']>,
    setCheckpoint: (number, hash) => void setCheckpoint.run(number, hash && toBytes(hash)),
    list: () => selectBlocks.all() as BlockRef[],
    newest: () => (selectNewestBlock.get() as BlockRef | undefined) ?? null,
    getHash: (block) => selectHash.get(block) as Hex | undefined,
    record(hashes, forgetBelow) {
      for (const [number, hash] of hashes) if (number >= forgetBelow) insertBlock.run(number, toBytes(hash));
      deleteBlocksBelow.run(forgetBelow);
    },
    removeAbove: (block) => void deleteBlocksAbove.run(block),
  };
}

/** Creates the operations on the first trades of tokens, within a transaction or a read. */
function createFirstTradeTable({ prefix: p, prepare }: SqliteSession) {
  const insert = prepare(
    `INSERT INTO ${p}first_trades (token, block) VALUES (?, ?) ` +
      'ON CONFLICT (token) DO UPDATE SET block = excluded.block WHERE excluded.block < block',
  );
  const deleteAbove = prepare(`DELETE FROM ${p}first_trades WHERE block > ?`);
  const select = prepare(`SELECT block FROM ${p}first_trades WHERE token = ?`).pluck();

  return {
    record(events: readonly ChainEvent[]): void {
      for (const [token, block] of firstTradeBlocks(events)) insert.run(toBytes(token), block);
    },
    removeAbove: (block: number): void => void deleteAbove.run(block),
    get: (token: Address) => select.get(toBytes(token)) as number | undefined, // an INTEGER column
  };
}

/** Reads rows that have the selected columns. */
const readAll = (rows: unknown) => (rows as ChainEventRow[]).map(readChainEvent);
const readSettlements = (rows: unknown) => readAll(rows).filter((event) => event.type === 'settlement');

/** Creates the operations on chain events. All run within a transaction or a read of the caller. */
export function createChainEventTable({ prefix: p, prepare }: SqliteSession) {
  const columns =
    `f.block, f.log, ${toHexText('f.block_hash')}, ${toHexText('f.transaction_hash')}, f.timestamp, f.type, ` +
    `${hexOrNull('f.uid')}, ${hexOrNull('f.owner')}, f.detail`;
  const insert = prepare(
    `INSERT INTO ${p}chain_events (block, log, block_hash, transaction_hash, timestamp, type, uid, owner, auction, detail) ` +
      'VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const selectByUid = prepare(
    `SELECT ${columns} FROM ${p}chain_events f WHERE f.uid = ? ORDER BY f.block, f.log`,
  ).raw();
  const selectBlockHash = prepare(
    `SELECT ${toHexText('block_hash')} FROM ${p}chain_events WHERE block = ? AND block_hash <> zeroblob(32) LIMIT 1`,
  ).pluck();
  const selectNewestBlock = prepare(`SELECT coalesce(max(block), -1) FROM ${p}chain_events`).pluck();
  const selectAdopted = prepare(
    `SELECT ${columns} FROM ${p}chain_events f WHERE f.block > ? AND f.block <= ? AND f.block_hash = zeroblob(32)`,
  ).raw();
  const remove = prepare(`DELETE FROM ${p}chain_events WHERE block = ? AND log = ?`);
  const selectLastLog = prepare(`SELECT coalesce(max(log), -1) FROM ${p}chain_events WHERE block = ?`).pluck();
  const selectOfBlock = prepare(`SELECT ${columns} FROM ${p}chain_events f WHERE f.block = ?`).raw();
  const selectAbove = prepare(
    `SELECT ${columns} FROM ${p}chain_events f WHERE f.block > ? ORDER BY f.block, f.log`,
  ).raw();
  const page = `AND f.type = ${TRADE} AND (f.block, f.log) < (?, ?) ORDER BY f.block DESC, f.log DESC LIMIT ? OFFSET ?`;
  const tradesOfUid = prepare(`SELECT ${columns} FROM ${p}chain_events f WHERE f.uid = ? ${page}`).raw();
  const tradesOfTransaction = prepare(
    `SELECT ${columns} FROM ${p}chain_events f WHERE f.transaction_hash = ? ${page}`,
  ).raw();
  // Each part reads an index in the order of the page and stops at its end.
  const tradesOfAccount = prepare(
    `SELECT * FROM (SELECT ${columns} FROM ${p}chain_events f INDEXED BY ${p}chain_events_owner ` +
      `WHERE f.owner = ? ${page}) UNION ALL ` +
      `SELECT * FROM (SELECT ${columns} FROM ${p}chain_events f INDEXED BY ${p}chain_events_onchain_user ` +
      `WHERE f.onchain_user = ? AND f.owner <> ? ${page}) ORDER BY 1 DESC, 2 DESC LIMIT ? OFFSET ?`,
  ).raw();
  const settlements = prepare(
    `SELECT ${columns} FROM ${p}chain_events f WHERE f.transaction_hash = ? AND f.type = ${SETTLEMENT} ORDER BY f.block, f.log`,
  ).raw();
  const selectByAuction = prepare(
    `SELECT ${columns} FROM ${p}chain_events f WHERE f.auction = ? ORDER BY f.block, f.log`,
  ).raw();

  return {
    add(event: ChainEvent): void {
      const { blockNumber, logIndex, blockHash, transactionHash, timestamp } = event;
      const uid = isOrderChainEvent(event) ? toBytes(event.uid) : null;
      const owner = event.type === 'trade' ? toBytes(event.owner) : null;
      insert.run(
        blockNumber,
        logIndex,
        toBytes(blockHash),
        toBytes(transactionHash),
        timestamp,
        CHAIN_EVENT_TYPES.indexOf(event.type),
        uid,
        owner,
        event.type === 'settlement' ? event.auctionId : null,
        formatChainEventDetail(event),
      );
    },
    listByOrder: (uid: Hex): OrderChainEvent[] => readAll(selectByUid.all(toBytes(uid))).filter(isOrderChainEvent),
    newestBlock: (): number => selectNewestBlock.get() as number, // an integer, or coalesced to one
    blockHash: (block: number) => selectBlockHash.get(block) as Hex | undefined, // a NOT NULL column
    listAdopted: ({ after, through }: { readonly after: number; readonly through: number }): ChainEvent[] =>
      readAll(selectAdopted.all(after, through)),
    remove: ({ blockNumber, logIndex }: ChainEvent): void => void remove.run(blockNumber, logIndex),
    lastLog: (block: number): number => selectLastLog.get(block) as number, // an integer, or coalesced to one
    listOfBlock: (block: number): ChainEvent[] => readAll(selectOfBlock.all(block)),
    listAbove: (block: number): ChainEvent[] => readAll(selectAbove.all(block)),
    trades({ filter, after, limit, offset = 0 }: TradeQuery): TradeChainEvent[] {
      let rows: unknown[];
      const from = [after?.blockNumber ?? Number.MAX_SAFE_INTEGER, after?.logIndex ?? 0];
      if ('uid' in filter) rows = tradesOfUid.all(toBytes(filter.uid), ...from, limit, offset);
      else if ('account' in filter) {
        const account = toBytes(filter.account);
        const part = [...from, limit + offset, 0];
        rows = tradesOfAccount.all(account, ...part, account, account, ...part, limit, offset);
      } else rows = tradesOfTransaction.all(toBytes(filter.transactionHash), ...from, limit, offset);
      return readAll(rows).filter((event) => event.type === 'trade');
    },
    settlementsOfAuction: (auctionId: number): SettlementChainEvent[] =>
      readSettlements(selectByAuction.all(auctionId)),
    settlements: (hash: Hex): SettlementChainEvent[] => readSettlements(settlements.all(toBytes(hash))),
  };
}

import type { ChainEvent, Hex, OrderChainEvent, SettlementChainEvent, TradeChainEvent, TradeQuery } from 'intentbook';
import {
  CHAIN_EVENT_TYPES,
  type ChainEventRow,
  formatChainEventDetail,
  isOrderChainEvent,
  readChainEvent,
} from 'intentbook/store-kit';
import { bufferToHex, hexOrNull, toBytes, toHexText } from './rows.ts';
import type { SqliteSession } from './session.ts';

const TRADE = CHAIN_EVENT_TYPES.indexOf('trade');
const SETTLEMENT = CHAIN_EVENT_TYPES.indexOf('settlement');

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
    `SELECT block_hash FROM ${p}chain_events WHERE block = ? AND block_hash <> zeroblob(32) LIMIT 1`,
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
  const removeAbove = prepare(`DELETE FROM ${p}chain_events WHERE block > ?`);
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
    /** Stores a chain event. Its log position must be free. */
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
    listByOrder: (uid: Buffer): OrderChainEvent[] => readAll(selectByUid.all(uid)).filter(isOrderChainEvent),
    /** Returns the newest block that has chain events; -1 if there is none. */
    newestBlock: (): number => selectNewestBlock.get() as number, // an integer, or coalesced to one
    /** Returns the hash of a block that has indexed chain events. */
    blockHash(block: number): Hex | undefined {
      const hash = selectBlockHash.get(block) as Buffer | undefined; // a NOT NULL column
      return hash && bufferToHex(hash);
    },
    /** Returns the events without the hash of their block, after one block up to another. */
    listAdopted: ({ after, through }: { readonly after: number; readonly through: number }): ChainEvent[] =>
      readAll(selectAdopted.all(after, through)),
    remove: ({ blockNumber, logIndex }: ChainEvent): void => void remove.run(blockNumber, logIndex),
    /** Returns the greatest log index of a block; -1 if it has no events. */
    lastLog: (block: number): number => selectLastLog.get(block) as number, // an integer, or coalesced to one
    /** Returns the events of a block. */
    listOfBlock: (block: number): ChainEvent[] => readAll(selectOfBlock.all(block)),
    listAbove: (block: number): ChainEvent[] => readAll(selectAbove.all(block)),
    removeAbove: (block: number): void => void removeAbove.run(block),
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

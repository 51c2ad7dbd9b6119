import type { ChainEvent, Hex, OrderChainEvent, SettlementChainEvent, TradeChainEvent, TradeQuery } from 'intentbook';
import { isOrderChainEvent } from 'intentbook/store-kit';
import { hexOrNull, toBytes, toHex, toHexText } from './rows.ts';
import type { SqliteSession } from './session.ts';

/** What the chain has said, as rows. Everything here runs within a transaction or a read of the caller. */
export interface ChainEventTable {
  /** Stores a fact unless its place is taken. @returns whether it is new. */
  add(fact: ChainEvent): boolean;
  ofOrder(uid: Buffer): OrderChainEvent[];
  /** The hash of a block that has facts. */
  blockHash(block: number): Hex | undefined;
  above(block: number): ChainEvent[];
  removeAbove(block: number): void;
  trades(query: TradeQuery): TradeChainEvent[];
  settlements(transactionHash: Hex): SettlementChainEvent[];
  settlementsOfAuction(auctionId: number): SettlementChainEvent[];
}

type FactRow = readonly [
  block: number,
  log: number,
  blockHash: Hex,
  transactionHash: Hex,
  timestamp: number | null,
  type: number,
  uid: Hex | null,
  owner: Hex | null,
  detail: string,
];

/** Codes are places in this list. They are in files: add at the end only. */
const TYPES = ['trade', 'settlement', 'invalidation', 'presignature', 'placement', 'refund'] as const;
const TRADE = TYPES.indexOf('trade');
const SETTLEMENT = TYPES.indexOf('settlement');

export function createChainEventTable({ prefix: p, prepare }: SqliteSession): ChainEventTable {
  const columns =
    `f.block, f.log, ${toHexText('f.block_hash')}, ${toHexText('f.transaction_hash')}, f.timestamp, f.type, ` +
    `${hexOrNull('f.uid')}, ${hexOrNull('f.owner')}, f.detail`;
  const insert = prepare(
    `INSERT INTO ${p}facts (block, log, block_hash, transaction_hash, timestamp, type, uid, owner, auction, detail) ` +
      'VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (block, log) DO NOTHING',
  );
  const byUid = prepare(`SELECT ${columns} FROM ${p}facts f WHERE f.uid = ? ORDER BY f.block, f.log`).raw();
  const hashAt = prepare(`SELECT block_hash FROM ${p}facts WHERE block = ? LIMIT 1`).pluck();
  const above = prepare(`SELECT ${columns} FROM ${p}facts f WHERE f.block > ? ORDER BY f.block, f.log`).raw();
  const removeAbove = prepare(`DELETE FROM ${p}facts WHERE block > ?`);
  const page = `AND f.type = ${TRADE} ORDER BY f.block DESC, f.log DESC LIMIT ? OFFSET ?`;
  const tradesOfUid = prepare(`SELECT ${columns} FROM ${p}facts f WHERE f.uid = ? ${page}`).raw();
  const tradesOfTransaction = prepare(`SELECT ${columns} FROM ${p}facts f WHERE f.transaction_hash = ? ${page}`).raw();
  // Each arm walks an index in the page's own order, and gives up where the page ends.
  const tradesOfAccount = prepare(
    `SELECT * FROM (SELECT ${columns} FROM ${p}facts f WHERE f.owner = ? AND f.type = ${TRADE} ` +
      'ORDER BY f.block DESC, f.log DESC LIMIT ?) UNION ' +
      `SELECT * FROM (SELECT ${columns} FROM ${p}orders o JOIN ${p}facts f ON f.uid = o.uid ` +
      `WHERE o.onchain_user = ? AND f.type = ${TRADE} ORDER BY f.block DESC, f.log DESC LIMIT ?) ` +
      'ORDER BY 1 DESC, 2 DESC LIMIT ? OFFSET ?',
  ).raw();
  const settlements = prepare(
    `SELECT ${columns} FROM ${p}facts f WHERE f.transaction_hash = ? AND f.type = ${SETTLEMENT} ORDER BY f.block, f.log`,
  ).raw();
  const ofAuction = prepare(`SELECT ${columns} FROM ${p}facts f WHERE f.auction = ? ORDER BY f.block, f.log`).raw();

  return {
    add(fact) {
      const { blockNumber, logIndex, blockHash, transactionHash, timestamp } = fact;
      const uid = isOrderChainEvent(fact) ? toBytes(fact.uid) : null;
      const owner = fact.type === 'trade' ? toBytes(fact.owner) : null;
      const { changes } = insert.run(
        blockNumber,
        logIndex,
        toBytes(blockHash),
        toBytes(transactionHash),
        timestamp,
        TYPES.indexOf(fact.type),
        uid,
        owner,
        fact.type === 'settlement' ? fact.auctionId : null,
        detailOf(fact),
      );
      return changes > 0;
    },
    ofOrder: (uid) => (byUid.all(uid) as FactRow[]).map(readFact).filter(isOrderChainEvent), // the columns selected
    blockHash(block) {
      const hash = hashAt.get(block) as Buffer | undefined; // a NOT NULL column
      return hash && toHex(hash);
    },
    above: (block) => (above.all(block) as FactRow[]).map(readFact), // the columns selected
    removeAbove: (block) => void removeAbove.run(block),
    trades({ filter, limit, offset = 0 }) {
      let rows: unknown[];
      if ('uid' in filter) rows = tradesOfUid.all(toBytes(filter.uid), limit, offset);
      else if ('account' in filter) {
        const account = toBytes(filter.account);
        const enough = limit + offset;
        rows = tradesOfAccount.all(account, enough, account, enough, limit, offset);
      } else rows = tradesOfTransaction.all(toBytes(filter.transactionHash), limit, offset);
      return (rows as FactRow[]).map(readFact).filter((fact) => fact.type === 'trade'); // the columns selected
    },
    settlementsOfAuction: (auctionId) =>
      (ofAuction.all(auctionId) as FactRow[]).map(readFact).filter((fact) => fact.type === 'settlement'), // likewise
    settlements: (hash) =>
      (settlements.all(toBytes(hash)) as FactRow[]).map(readFact).filter((fact) => fact.type === 'settlement'), // likewise
  };
}

/** What a fact says besides its place and its order. */
function detailOf(fact: ChainEvent): string {
  switch (fact.type) {
    case 'trade': {
      const { sellToken, buyToken, sellAmount, buyAmount, feeAmount, executedFee, prices, protocolFees } = fact;
      return JSON.stringify({
        sellToken,
        buyToken,
        sellAmount,
        buyAmount,
        feeAmount,
        executedFee,
        prices,
        protocolFees,
      });
    }
    case 'settlement':
      return JSON.stringify({ solver: fact.solver, auctionId: fact.auctionId });
    case 'presignature':
      return JSON.stringify({ signed: fact.signed });
    case 'placement': {
      const { order, sender, userValidTo, placementError } = fact;
      return JSON.stringify({ order, sender, userValidTo, placementError });
    }
    case 'invalidation':
    case 'refund':
      return '{}';
  }
}

function readFact(row: FactRow): ChainEvent {
  const [blockNumber, logIndex, blockHash, transactionHash, timestamp, type, uid, owner, detail] = row;
  return {
    type: TYPES[type],
    blockNumber,
    logIndex,
    blockHash,
    transactionHash,
    timestamp,
    ...(uid === null ? {} : { uid }),
    ...(owner === null ? {} : { owner }),
    ...JSON.parse(detail),
  } as ChainEvent; // as `add` has taken it apart
}

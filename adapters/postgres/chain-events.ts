import type {
  Address,
  ChainEvent,
  Hex,
  OrderChainEvent,
  SettlementChainEvent,
  TradeChainEvent,
  TradeQuery,
} from 'intentbook';
import { firstTradeBlocks, isOrderChainEvent } from 'intentbook/store-kit';
import type { Query } from './query.ts';
import { toBytes } from './rows.ts';
import type { PostgresSession } from './session.ts';

/** What the chain has said, as rows. */
export interface PgChainEventTable {
  /** Stores facts whose places are not taken. @returns the places of the new ones, see {@link readLogPosition}. */
  add(run: Query, facts: readonly ChainEvent[]): Promise<ReadonlySet<string>>;
  ofOrders(run: Query, uids: readonly Hex[]): Promise<ReadonlyMap<Hex, readonly OrderChainEvent[]>>;
  /** The hashes of those of the blocks that have facts or are remembered. */
  hashes(run: Query, blocks: readonly number[]): Promise<ReadonlyMap<number, Hex>>;
  removeAbove(run: Query, block: number): Promise<readonly ChainEvent[]>;
  trades(run: Query, query: TradeQuery): Promise<TradeChainEvent[]>;
  settlements(run: Query, transactionHash: Hex): Promise<SettlementChainEvent[]>;
  settlementsOfAuction(run: Query, auctionId: number): Promise<SettlementChainEvent[]>;
  firstTrade(run: Query, token: Address): Promise<number | undefined>;
}

type FactRow = readonly [
  block: number,
  log: number,
  blockHash: Hex,
  transactionHash: Hex,
  timestamp: number | null,
  type: number,
  uid: Hex | null,
  owner: Address | null,
  detail: string,
];

/** Codes are places in this list. They are in databases: add at the end only. */
const TYPES = ['trade', 'settlement', 'invalidation', 'presignature', 'placement', 'refund'] as const;
const TRADE = TYPES.indexOf('trade');
const SETTLEMENT = TYPES.indexOf('settlement');

export const readLogPosition = ({ blockNumber, logIndex }: ChainEvent) => `${blockNumber} ${logIndex}`;

export function createChainEventTable({ schema: s, prepare }: PostgresSession): PgChainEventTable {
  const columns = 'f.block, f.log, f.block_hash, f.transaction_hash, f."timestamp", f.type, f.uid, f.owner, f.detail';
  const insert = prepare<readonly [number, number]>(
    `INSERT INTO ${s}.facts AS f (block, log, block_hash, transaction_hash, "timestamp", type, uid, owner, detail, auction) ` +
      'SELECT * FROM unnest($1::bigint[], $2::integer[], $3::bytea[], $4::bytea[], $5::bigint[], $6::smallint[], ' +
      '$7::bytea[], $8::bytea[], $9::text[], $10::bigint[]) ON CONFLICT (block, log) DO NOTHING RETURNING f.block, f.log',
  );
  const byUid = prepare<FactRow>(
    `SELECT ${columns} FROM ${s}.facts f WHERE f.uid = ANY($1::bytea[]) ORDER BY f.block, f.log`,
  );
  const hashes = prepare<readonly [number, Hex]>(
    `SELECT n, coalesce((SELECT b.hash FROM ${s}.blocks b WHERE b.number = n), ` +
      `(SELECT f.block_hash FROM ${s}.facts f WHERE f.block = n LIMIT 1)) FROM unnest($1::bigint[]) n`,
  );
  const removeAbove = prepare<FactRow>(`DELETE FROM ${s}.facts f WHERE f.block > $1 RETURNING ${columns}`);
  const page = `AND f.type = ${TRADE} ORDER BY f.block DESC, f.log DESC LIMIT $2 OFFSET $3`;
  const tradesOfUid = prepare<FactRow>(`SELECT ${columns} FROM ${s}.facts f WHERE f.uid = $1 ${page}`);
  const tradesOfTransaction = prepare<FactRow>(
    `SELECT ${columns} FROM ${s}.facts f WHERE f.transaction_hash = $1 ${page}`,
  );
  const arm = (from: string) =>
    `(SELECT ${columns} FROM ${from} AND f.type = ${TRADE} ORDER BY f.block DESC, f.log DESC LIMIT $2::bigint + $3::bigint)`;
  const tradesOfAccount = prepare<FactRow>(
    `SELECT * FROM (${arm(`${s}.facts f WHERE f.owner = $1`)} UNION ` +
      `${arm(`${s}.orders o JOIN ${s}.facts f ON f.uid = o.uid WHERE o.onchain_user = $1`)}) f ` +
      'ORDER BY f.block DESC, f.log DESC LIMIT $2::bigint OFFSET $3::bigint',
  );
  const settlements = prepare<FactRow>(
    `SELECT ${columns} FROM ${s}.facts f WHERE f.transaction_hash = $1 AND f.type = ${SETTLEMENT} ORDER BY f.block, f.log`,
  );
  const ofAuction = prepare<FactRow>(
    `SELECT ${columns} FROM ${s}.facts f WHERE f.auction = $1 ORDER BY f.block, f.log`,
  );
  const traded = prepare(
    `INSERT INTO ${s}.first_trades AS t (token, block) SELECT * FROM unnest($1::bytea[], $2::bigint[]) ` +
      'ON CONFLICT (token) DO UPDATE SET block = excluded.block WHERE excluded.block < t.block',
  );
  const untraded = prepare(`DELETE FROM ${s}.first_trades WHERE block > $1`);
  const firstTrade = prepare<readonly [number]>(`SELECT block FROM ${s}.first_trades WHERE token = $1`);

  return {
    async add(run, facts) {
      if (facts.length === 0) return new Set();
      const rows = await run(
        insert,
        facts.map(({ blockNumber }) => blockNumber),
        facts.map(({ logIndex }) => logIndex),
        facts.map(({ blockHash }) => toBytes(blockHash)),
        facts.map(({ transactionHash }) => toBytes(transactionHash)),
        facts.map(({ timestamp }) => timestamp),
        facts.map(({ type }) => TYPES.indexOf(type)),
        facts.map((fact) => (isOrderChainEvent(fact) ? toBytes(fact.uid) : null)),
        facts.map((fact) => (fact.type === 'trade' ? toBytes(fact.owner) : null)),
        facts.map(detailOf),
        facts.map((fact) => (fact.type === 'settlement' ? fact.auctionId : null)),
      );
      const fresh = new Set(rows.map(([block, log]) => `${block} ${log}`));
      const first = [...firstTradeBlocks(facts.filter((fact) => fresh.has(readLogPosition(fact))))];
      if (first.length > 0) {
        await run(
          traded,
          first.map(([token]) => toBytes(token)),
          first.map(([, block]) => block),
        );
      }
      return fresh;
    },

    async ofOrders(run, uids) {
      const found = new Map<Hex, OrderChainEvent[]>(uids.map((uid) => [uid, []]));
      const rows = uids.length === 0 ? [] : await run(byUid, uids.map(toBytes));
      for (const fact of rows.map(readFact)) if (isOrderChainEvent(fact)) found.get(fact.uid)?.push(fact);
      return found;
    },

    async hashes(run, blocks) {
      const rows = blocks.length === 0 ? [] : await run(hashes, blocks);
      return new Map(rows.filter(([, hash]) => hash !== null));
    },

    async removeAbove(run, block) {
      await run(untraded, block);
      return (await run(removeAbove, block)).map(readFact);
    },

    firstTrade: async (run, token) => (await run(firstTrade, toBytes(token)))[0]?.[0],

    async trades(run, { filter, limit, offset = 0 }) {
      let rows: readonly FactRow[];
      if ('uid' in filter) rows = await run(tradesOfUid, toBytes(filter.uid), limit, offset);
      else if ('account' in filter) rows = await run(tradesOfAccount, toBytes(filter.account), limit, offset);
      else rows = await run(tradesOfTransaction, toBytes(filter.transactionHash), limit, offset);
      return rows.map(readFact).filter((fact) => fact.type === 'trade');
    },

    settlementsOfAuction: async (run, auctionId) =>
      (await run(ofAuction, auctionId)).map(readFact).filter((fact) => fact.type === 'settlement'),

    settlements: async (run, hash) =>
      (await run(settlements, toBytes(hash))).map(readFact).filter((fact) => fact.type === 'settlement'),
  };
}

/** What a fact says besides its place and its order. */
function detailOf(fact: ChainEvent): string {
  const { blockNumber, blockHash, logIndex, transactionHash, timestamp, type, ...rest } = fact;
  if ('uid' in rest) {
    const { uid, ...about } = rest;
    if (!('owner' in about)) return JSON.stringify(about);
    const { owner, ...detail } = about;
    return JSON.stringify(detail);
  }
  return JSON.stringify(rest);
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

import type {
  Address,
  ApplyOutcome,
  BlockRef,
  ChainEvent,
  ChainEventBatch,
  ChainProgress,
  Hex,
  OrderChainEvent,
  RollbackOutcome,
  RollbackRequest,
  SettlementChainEvent,
  TradeChainEvent,
  TradeQuery,
} from 'intentbook';
import type { OrderStateProjection } from 'intentbook/store-kit';
import {
  blockHashes,
  firstTradeBlocks,
  getAffectedUids,
  getPlacementVersion,
  isCursorStale,
  projectOrderState,
} from 'intentbook/store-kit';
import type { AppDataTable } from './app-data.ts';
import { createChainEventTable } from './chain-events.ts';
import type { EventTable } from './events.ts';
import type { OrderProjectionTable } from './order-projection.ts';
import { toBytes, toHex } from './rows.ts';
import type { SqliteSession } from './session.ts';

export interface ChainOperations {
  progress(): ChainProgress;
  apply(batch: ChainEventBatch): ApplyOutcome;
  rollback(request: RollbackRequest): RollbackOutcome;
  trades(query: TradeQuery): TradeChainEvent[];
  settlements(transactionHash: Hex): SettlementChainEvent[];
  eventsOfOrder(uid: Buffer): readonly OrderChainEvent[];
  settlementsOfAuction(auctionId: number): SettlementChainEvent[];
  firstTrade(token: Address): number | undefined;
  /** Within a transaction: folds what the chain has said before into a row that has just been inserted. */
  fold(uid: Buffer, at: number): void;
}

type BlockRow = readonly [number: number, hash: Buffer];

export function createChainStore(
  session: SqliteSession,
  rows: OrderProjectionTable,
  documents: AppDataTable,
  events: EventTable,
): ChainOperations {
  const { prefix: p, prepare, read } = session;
  const facts = createChainEventTable(session);
  const newest = prepare(`SELECT number, hash FROM ${p}progress`).raw();
  const setIndexedBlock = prepare(
    `INSERT INTO ${p}progress (id, number, hash) VALUES (1, ?, ?) ` +
      'ON CONFLICT (id) DO UPDATE SET number = excluded.number, hash = excluded.hash',
  );
  const clearMark = prepare(`DELETE FROM ${p}progress`);
  const remembered = prepare(`SELECT number, hash FROM ${p}blocks ORDER BY number DESC`).raw();
  const hashOf = prepare(`SELECT hash FROM ${p}blocks WHERE number = ?`).pluck();
  const remember = prepare(`INSERT INTO ${p}blocks (number, hash) VALUES (?, ?) ON CONFLICT (number) DO NOTHING`);
  const forgetBelow = prepare(`DELETE FROM ${p}blocks WHERE number < ?`);
  const forgetAbove = prepare(`DELETE FROM ${p}blocks WHERE number > ?`);
  const top = prepare(`SELECT number, hash FROM ${p}blocks ORDER BY number DESC LIMIT 1`).raw();

  const traded = prepare(
    `INSERT INTO ${p}first_trades (token, block) VALUES (?, ?) ` +
      'ON CONFLICT (token) DO UPDATE SET block = excluded.block WHERE excluded.block < block',
  );
  const untraded = prepare(`DELETE FROM ${p}first_trades WHERE block > ?`);
  const firstTrade = prepare(`SELECT block FROM ${p}first_trades WHERE token = ?`).pluck();

  const readIndexedBlock = () => refOf(newest.get() as BlockRow | undefined); // the columns selected
  function knownHash(block: number): Hex | undefined {
    const hash = hashOf.get(block) as Buffer | undefined; // a NOT NULL column
    return hash === undefined ? facts.blockHash(block) : toHex(hash);
  }

  function write({ rows: changes, events: entries }: OrderStateProjection): void {
    for (const change of changes) {
      if (change.type === 'insert') documents.refer(change.order.appData, undefined);
      rows.change(change, () => getPlacementVersion(events.last()));
    }
    for (const event of entries) events.record(event);
  }

  /** Runs a change of the facts, then brings the orders it touches in line. */
  function judged(touched: readonly ChainEvent[], at: number, change: () => void): void {
    const before = getAffectedUids(touched).map((uid) => ({ uid, before: facts.ofOrder(toBytes(uid)) }));
    change();
    const affected = before.map((each) => {
      const bytes = toBytes(each.uid);
      return { ...each, order: rows.find(bytes), after: facts.ofOrder(bytes) };
    });
    write(projectOrderState(affected, at));
  }

  return {
    progress: () =>
      read('read how far the chain has been read', () => ({
        indexedBlock: readIndexedBlock() ?? null,
        blocks: (remembered.all() as BlockRow[]).flatMap((row) => refOf(row) ?? []), // the columns selected
      })),

    apply: (batch) =>
      session.write('apply facts of the chain', () => {
        const indexedBlock = readIndexedBlock() ?? null;
        if (isCursorStale(indexedBlock, batch.after)) return { status: 'moved', indexedBlock };
        const named = blockHashes(batch);
        for (const [number, hash] of named) {
          // Nothing is known above the indexedBlock.
          const stored = indexedBlock === null || number > indexedBlock.number ? undefined : knownHash(number);
          if (stored !== undefined && stored !== hash) {
            return { status: 'conflict', block: number, stored, indexedBlock: indexedBlock ?? batch.through };
          }
        }
        const fresh: ChainEvent[] = [];
        judged(batch.events, batch.at, () => {
          for (const fact of batch.events) if (facts.add(fact)) fresh.push(fact);
        });
        for (const [token, block] of firstTradeBlocks(fresh)) traded.run(toBytes(token), block);
        for (const [number, hash] of named) if (number >= batch.forgetBelow) remember.run(number, toBytes(hash));
        forgetBelow.run(batch.forgetBelow);
        const { through } = batch;
        const moved = indexedBlock === null || indexedBlock.number < through.number ? through : indexedBlock;
        if (moved !== indexedBlock) setIndexedBlock.run(moved.number, toBytes(moved.hash));
        return {
          status: 'applied',
          applied: fresh.length,
          known: batch.events.length - fresh.length,
          indexedBlock: moved,
        };
      }),

    rollback: ({ to, after, at }) =>
      session.write('take back facts of the chain', () => {
        const indexedBlock = readIndexedBlock() ?? null;
        if (isCursorStale(indexedBlock, after)) return { status: 'moved', indexedBlock };
        const gone = facts.above(to);
        judged(gone, at, () => facts.removeAbove(to));
        forgetAbove.run(to);
        untraded.run(to);
        if (indexedBlock === null || indexedBlock.number <= to)
          return { status: 'rolledBack', removed: gone.length, indexedBlock };
        const back = refOf(top.get() as BlockRow | undefined) ?? null; // the columns selected
        if (back === null) clearMark.run();
        else setIndexedBlock.run(back.number, toBytes(back.hash));
        return { status: 'rolledBack', removed: gone.length, indexedBlock: back };
      }),

    trades: (query) => read('read trades', () => facts.trades(query)),
    firstTrade: (token) =>
      // An INTEGER column.
      read('read the first trade of a token', () => firstTrade.get(toBytes(token)) as number | undefined),
    settlements: (hash) => read('read settlements', () => facts.settlements(hash)),
    settlementsOfAuction: (auctionId) => read('read settlements', () => facts.settlementsOfAuction(auctionId)),

    eventsOfOrder: facts.ofOrder,

    fold(bytes, at) {
      const after = facts.ofOrder(bytes);
      if (after.length > 0)
        write(projectOrderState([{ uid: toHex(bytes), order: rows.find(bytes), before: [], after }], at));
    },
  };
}

function refOf(row: BlockRow | undefined): BlockRef | undefined {
  return row && { number: row[0], hash: toHex(row[1]) };
}

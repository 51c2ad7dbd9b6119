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
import {
  blockHashes,
  findAdoptable,
  findNewEvents,
  firstTradeBlocks,
  getAffectedUids,
  getConfirmedRange,
  getEndTime,
  getPlacementVersion,
  isBatchStale,
  isCursorStale,
  type OrderStateProjection,
  projectOrderState,
  toConflict,
} from 'intentbook/store-kit';
import type { AppDataTable } from './app-data.ts';
import { createChainEventTable } from './chain-events.ts';
import type { EventTable } from './events.ts';
import type { OrderProjectionTable } from './order-projection.ts';
import { bufferToHex, toBytes } from './rows.ts';
import type { SqliteSession } from './session.ts';

/** The hash of the checkpoint is null after a rollback that left no stored hash. */
type BlockRow = readonly [number: number, hash: Buffer | null];

/** Creates the operations on chain events, which update the orders that they affect. All are synchronous. */
export function createChainStore(
  session: SqliteSession,
  projection: OrderProjectionTable,
  documents: AppDataTable,
  events: EventTable,
) {
  const { prefix: p, prepare, read } = session;
  const chainEvents = createChainEventTable(session);
  const newest = prepare(`SELECT number, hash FROM ${p}progress`).raw();
  const setIndexedBlock = prepare(
    `INSERT INTO ${p}progress (id, number, hash) VALUES (1, ?, ?) ` +
      'ON CONFLICT (id) DO UPDATE SET number = excluded.number, hash = excluded.hash',
  );
  const selectBlocks = prepare(`SELECT number, hash FROM ${p}blocks ORDER BY number DESC`).raw();
  const selectHash = prepare(`SELECT hash FROM ${p}blocks WHERE number = ?`).pluck();
  const insertBlock = prepare(`INSERT INTO ${p}blocks (number, hash) VALUES (?, ?) ON CONFLICT (number) DO NOTHING`);
  const deleteBlocksBelow = prepare(`DELETE FROM ${p}blocks WHERE number < ?`);
  const deleteBlocksAbove = prepare(`DELETE FROM ${p}blocks WHERE number > ?`);
  const selectNewestBlock = prepare(`SELECT number, hash FROM ${p}blocks ORDER BY number DESC LIMIT 1`).raw();

  const recordFirstTrade = prepare(
    `INSERT INTO ${p}first_trades (token, block) VALUES (?, ?) ` +
      'ON CONFLICT (token) DO UPDATE SET block = excluded.block WHERE excluded.block < block',
  );
  const deleteFirstTradesAbove = prepare(`DELETE FROM ${p}first_trades WHERE block > ?`);
  const firstTrade = prepare(`SELECT block FROM ${p}first_trades WHERE token = ?`).pluck();

  const readProgress = () => newest.get() as BlockRow | undefined; // the columns selected
  function getStoredHash(block: number): Hex | undefined {
    const hash = selectHash.get(block) as Buffer | undefined; // a NOT NULL column
    return hash === undefined ? chainEvents.blockHash(block) : bufferToHex(hash);
  }

  function write({ rows: changes, events: entries }: OrderStateProjection): void {
    for (const change of changes) {
      if (change.type === 'insert') documents.refer(change.order.appData, getEndTime(change.order), undefined);
      projection.change(change, () => getPlacementVersion(events.last()));
    }
    for (const event of entries) events.record(event);
  }

  /** Runs a change of the chain events, then updates the orders that it affects. */
  function changeAndProject(changed: readonly ChainEvent[], at: number, change: () => void): void {
    const before = getAffectedUids(changed).map((uid) => ({ uid, before: chainEvents.listByOrder(toBytes(uid)) }));
    change();
    const affected = before.map((each) => {
      const bytes = toBytes(each.uid);
      return { ...each, order: projection.find(bytes), after: chainEvents.listByOrder(bytes) };
    });
    write(projectOrderState(affected, at));
  }

  return {
    progress: (): ChainProgress =>
      read('read the progress of the indexer', () => {
        const row = readProgress();
        const rolledBackTo = getRolledBackTo(row);
        return {
          indexedBlock: toBlockRef(row),
          blocks: (selectBlocks.all() as BlockRow[]).flatMap((each) => toBlockRef(each) ?? []), // the columns selected
          ...(rolledBackTo !== undefined && { rolledBackTo }),
        };
      }),

    apply: (batch: ChainEventBatch): ApplyOutcome =>
      session.write('apply chain events', () => {
        const row = readProgress();
        const indexedBlock = toBlockRef(row);
        if (isBatchStale(batch, indexedBlock, getRolledBackTo(row))) return { status: 'moved', indexedBlock };
        const hashes = blockHashes(batch);
        // A rollback may keep events above the next checkpoint.
        const newest = Math.max(indexedBlock?.number ?? -1, chainEvents.newestBlock());
        for (const [number, hash] of hashes) {
          const stored = number > newest ? undefined : getStoredHash(number);
          if (stored !== undefined && stored !== hash) {
            return { status: 'conflict', block: number, stored, indexedBlock: indexedBlock ?? batch.through };
          }
        }
        const numbers = new Set(batch.events.map(({ blockNumber }) => blockNumber));
        const adopted = chainEvents.listAdopted(getConfirmedRange(batch, indexedBlock));
        const isConfirmed = new Set(adopted.map(formatPosition));
        const stored = [...numbers].flatMap((number) => (number > newest ? [] : chainEvents.listOfBlock(number)));
        const indexed = stored.filter((event) => !isConfirmed.has(formatPosition(event)));
        const found = findNewEvents(batch.events, indexed);
        if (found.status === 'contradiction') return toConflict(found.event, indexedBlock ?? batch.through);
        const added = found.events;
        const removed = [...adopted, ...found.removed];
        const applied = added.length - found.removed.length;
        changeAndProject([...removed, ...added], batch.at, () => {
          removed.forEach(chainEvents.remove);
          added.forEach(chainEvents.add);
        });
        for (const [token, block] of firstTradeBlocks(added)) recordFirstTrade.run(toBytes(token), block);
        for (const [number, hash] of hashes) if (number >= batch.forgetBelow) insertBlock.run(number, toBytes(hash));
        deleteBlocksBelow.run(batch.forgetBelow);
        const { through } = batch;
        const next = indexedBlock === null || indexedBlock.number < through.number ? through : indexedBlock;
        if (next !== indexedBlock) setIndexedBlock.run(next.number, toBytes(next.hash));
        return { status: 'applied', applied, known: batch.events.length - applied, indexedBlock: next };
      }),

    adopt: (adopted: readonly OrderChainEvent[], at: number, complete?: readonly Hex[]): number =>
      session.write('adopt chain events', () => {
        const numbers = new Set(adopted.map(({ blockNumber }) => blockNumber));
        numbers.delete(0);
        const { added, removed } = findAdoptable(adopted, {
          complete,
          ofBlocks: [...numbers].flatMap(chainEvents.listOfBlock),
          ofOrder: (uid) => chainEvents.listByOrder(toBytes(uid)),
          lastUnknown: chainEvents.lastLog(0),
        });
        changeAndProject([...removed, ...added], at, () => {
          removed.forEach(chainEvents.remove);
          added.forEach(chainEvents.add);
        });
        for (const [token, block] of firstTradeBlocks(added)) recordFirstTrade.run(toBytes(token), block);
        return Math.max(added.length, removed.length);
      }),

    rollback: ({ to, after, at }: RollbackRequest): RollbackOutcome =>
      session.write('roll back chain events', () => {
        const row = readProgress();
        const indexedBlock = toBlockRef(row);
        if (isCursorStale(indexedBlock, after)) return { status: 'moved', indexedBlock };
        const removed = chainEvents.listAbove(to);
        changeAndProject(removed, at, () => chainEvents.removeAbove(to));
        deleteBlocksAbove.run(to);
        deleteFirstTradesAbove.run(to);
        if (row === undefined || row[0] <= to) return { status: 'rolledBack', removed: removed.length, indexedBlock };
        const newestLeft = toBlockRef(selectNewestBlock.get() as BlockRow | undefined); // the columns selected
        setIndexedBlock.run(newestLeft?.number ?? to, newestLeft === null ? null : toBytes(newestLeft.hash));
        return { status: 'rolledBack', removed: removed.length, indexedBlock: newestLeft };
      }),

    trades: (query: TradeQuery): TradeChainEvent[] => read('read trades', () => chainEvents.trades(query)),
    firstTrade: (token: Address): number | undefined =>
      // An INTEGER column.
      read('read the first trade of a token', () => firstTrade.get(toBytes(token)) as number | undefined),
    settlements: (hash: Hex): SettlementChainEvent[] => read('read settlements', () => chainEvents.settlements(hash)),
    settlementsOfAuction: (auctionId: number): SettlementChainEvent[] =>
      read('read settlements', () => chainEvents.settlementsOfAuction(auctionId)),

    listEventsOfOrder: chainEvents.listByOrder,

    /** Applies chain events stored earlier to an order row that was just inserted. Must run within a transaction. */
    projectNewOrder(bytes: Buffer, at: number): void {
      const after = chainEvents.listByOrder(bytes);
      if (after.length > 0)
        write(projectOrderState([{ uid: bufferToHex(bytes), order: projection.find(bytes), before: [], after }], at));
    },
  };
}

const formatPosition = ({ blockNumber, logIndex }: ChainEvent) => `${blockNumber} ${logIndex}`;

const getRolledBackTo = (row: BlockRow | undefined) => (row?.[1] === null ? row[0] : undefined);

function toBlockRef([number, hash]: BlockRow | readonly [] = []): BlockRef | null {
  return number === undefined || hash === null || hash === undefined ? null : { number, hash: bufferToHex(hash) };
}

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
  CHAIN_EVENT_TYPES,
  type ChainEventRow,
  findAdoptable,
  findNewEvents,
  firstTradeBlocks,
  formatChainEventDetail,
  getAffectedUids,
  getConfirmedRange,
  getEndTime,
  getPlacementVersion,
  isBatchStale,
  isCursorStale,
  isOrderChainEvent,
  type OrderStateProjection,
  projectOrderState,
  readChainEvent,
  toConflict,
} from 'intentbook/store-kit';
import type { EventTable } from './events.ts';
import type { OrderProjectionTable } from './order-projection.ts';
import type { AppDataTable } from './orders.ts';
import { bufferToHex, hexOrNull, toBytes, toHexText } from './rows.ts';
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
  const { read } = session;
  const chainEvents = createChainEventTable(session);
  const blocks = createBlockTable(session);
  const firstTrades = createFirstTradeTable(session);
  const orders = createChainProjection(chainEvents, firstTrades, projection, documents, events);

  return {
    progress: (): ChainProgress =>
      read('read the progress of the indexer', () => {
        const { indexedBlock, rolledBackTo } = blocks.progress();
        return { indexedBlock, blocks: blocks.list(), ...(rolledBackTo !== undefined && { rolledBackTo }) };
      }),

    apply: (batch: ChainEventBatch): ApplyOutcome =>
      session.write('apply chain events', () => {
        const { indexedBlock, rolledBackTo } = blocks.progress();
        if (isBatchStale(batch, indexedBlock, rolledBackTo)) return { status: 'moved', indexedBlock };
        const hashes = blockHashes(batch);
        // A rollback may keep events above the next checkpoint.
        const newest = Math.max(indexedBlock?.number ?? -1, chainEvents.newestBlock());
        for (const [number, hash] of hashes) {
          const stored = number > newest ? undefined : (blocks.getHash(number) ?? chainEvents.blockHash(number));
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
        orders.replace(removed, added, batch.at);
        blocks.record(hashes, batch.forgetBelow);
        const { through } = batch;
        const next = indexedBlock === null || indexedBlock.number < through.number ? through : indexedBlock;
        if (next !== indexedBlock) blocks.setProgress(next.number, next.hash);
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
        orders.replace(removed, added, at);
        return Math.max(added.length, removed.length);
      }),

    rollback: ({ to, after, at, pendingValidity }: RollbackRequest): RollbackOutcome =>
      session.write('roll back chain events', () => {
        const { number, indexedBlock } = blocks.progress();
        if (isCursorStale(indexedBlock, after)) return { status: 'moved', indexedBlock };
        const removed = chainEvents.listAbove(to);
        orders.changeAndProject(removed, at, () => chainEvents.removeAbove(to), pendingValidity);
        blocks.removeAbove(to);
        firstTrades.removeAbove(to);
        if (number === undefined || number <= to)
          return { status: 'rolledBack', removed: removed.length, indexedBlock };
        const newestLeft = blocks.newest();
        blocks.setProgress(newestLeft?.number ?? to, newestLeft?.hash);
        return { status: 'rolledBack', removed: removed.length, indexedBlock: newestLeft };
      }),

    trades: (query: TradeQuery): TradeChainEvent[] => read('read trades', () => chainEvents.trades(query)),
    firstTrade: (token: Address): number | undefined =>
      read('read the first trade of a token', () => firstTrades.get(token)),
    settlements: (hash: Hex): SettlementChainEvent[] => read('read settlements', () => chainEvents.settlements(hash)),
    settlementsOfAuction: (auctionId: number): SettlementChainEvent[] =>
      read('read settlements', () => chainEvents.settlementsOfAuction(auctionId)),

    listEventsOfOrder: chainEvents.listByOrder,

    /** Applies chain events stored earlier to an order row that was just inserted. Must run within a transaction. */
    projectNewOrder(bytes: Buffer, at: number): void {
      const after = chainEvents.listByOrder(bytes);
      if (after.length > 0)
        orders.write(
          projectOrderState([{ uid: bufferToHex(bytes), order: projection.find(bytes), before: [], after }], at),
        );
    },
  };
}

/** Creates the changes of orders by chain events. */
function createChainProjection(
  chainEvents: ReturnType<typeof createChainEventTable>,
  firstTrades: ReturnType<typeof createFirstTradeTable>,
  projection: OrderProjectionTable,
  documents: AppDataTable,
  events: EventTable,
) {
  function write({ rows: changes, events: entries }: OrderStateProjection): void {
    for (const change of changes) {
      if (change.type === 'insert') documents.refer(change.order.appData, getEndTime(change.order), undefined);
      projection.change(change, () => getPlacementVersion(events.last()));
    }
    for (const event of entries) events.record(event);
  }

  /** Runs a change of the chain events, then updates the orders that it affects. */
  function changeAndProject(
    changed: readonly ChainEvent[],
    at: number,
    change: () => void,
    pendingValidity?: number,
  ): void {
    const before = getAffectedUids(changed).map((uid) => ({ uid, before: chainEvents.listByOrder(toBytes(uid)) }));
    change();
    const affected = before.map((each) => {
      const bytes = toBytes(each.uid);
      return { ...each, order: projection.find(bytes), after: chainEvents.listByOrder(bytes) };
    });
    write(projectOrderState(affected, at, pendingValidity));
  }

  /** Replaces chain events by others. */
  function replace(removed: readonly ChainEvent[], added: readonly ChainEvent[], at: number): void {
    changeAndProject([...removed, ...added], at, () => {
      removed.forEach(chainEvents.remove);
      added.forEach(chainEvents.add);
    });
    firstTrades.record(added);
  }

  return { write, changeAndProject, replace };
}

/** Creates the operations on the progress of the indexer and the hashes of blocks, within a transaction or a read. */
function createBlockTable({ prefix: p, prepare }: SqliteSession) {
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

  return {
    /** Returns the checkpoint. Without a stored hash, its number is that to which blocks were rolled back. */
    progress() {
      const row = newest.get() as BlockRow | undefined; // the columns selected
      const rolledBackTo = row?.[1] === null ? row[0] : undefined;
      return { number: row?.[0], indexedBlock: toBlockRef(row), rolledBackTo };
    },
    list: (): BlockRef[] => (selectBlocks.all() as BlockRow[]).flatMap((each) => toBlockRef(each) ?? []), // as above
    newest: (): BlockRef | null => toBlockRef(selectNewestBlock.get() as BlockRow | undefined), // as above
    getHash(block: number): Hex | undefined {
      const hash = selectHash.get(block) as Buffer | undefined; // a NOT NULL column
      return hash && bufferToHex(hash);
    },
    /** Stores hashes by block, and deletes those below a block. */
    record(hashes: ReadonlyMap<number, Hex>, forgetBelow: number): void {
      for (const [number, hash] of hashes) if (number >= forgetBelow) insertBlock.run(number, toBytes(hash));
      deleteBlocksBelow.run(forgetBelow);
    },
    removeAbove: (block: number): void => void deleteBlocksAbove.run(block),
    /** Sets the checkpoint. It has no hash after a rollback that left none. */
    setProgress: (number: number, hash: Hex | undefined): void =>
      void setIndexedBlock.run(number, hash === undefined ? null : toBytes(hash)),
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

const formatPosition = ({ blockNumber, logIndex }: ChainEvent) => `${blockNumber} ${logIndex}`;

function toBlockRef([number, hash]: BlockRow | readonly [] = []): BlockRef | null {
  return number === undefined || hash === null || hash === undefined ? null : { number, hash: bufferToHex(hash) };
}

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

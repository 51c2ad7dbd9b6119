import type {
  ApplyOutcome,
  BlockRef,
  ChainEvent,
  ChainEventBatch,
  ChainProgress,
  OrderChainEvent,
  RollbackOutcome,
  RollbackRequest,
} from '../ports/chain-store.ts';
import type { NewEvent } from '../ports/store.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import {
  blockHashes,
  findAdoptable,
  findNewEvents,
  formatPosition,
  getAffectedUids,
  getConfirmedRange,
  isBatchStale,
  isCursorStale,
  toConflict,
} from '../records/chain-batch.ts';
import { type AffectedOrder, type KnownOrder, projectOrderState, type RowChange } from '../records/project-order.ts';

/** The tables of a store whose reads and writes are synchronous, within the atomic step of the caller. */
export interface ChainTables {
  readonly events: {
    /** Stores an event. Its log position must be free. */
    add(event: ChainEvent): void;
    remove(event: ChainEvent): void;
    listByOrder(uid: Hex): readonly OrderChainEvent[];
    listOfBlock(block: number): readonly ChainEvent[];
    /** Lists the events without the hash of their block, after one block up to another. */
    listAdopted(range: { readonly after: number; readonly through: number }): readonly ChainEvent[];
    listAbove(block: number): readonly ChainEvent[];
    /** Returns the hash of a block that has indexed chain events. */
    blockHash(block: number): Hex | undefined;
    /** Returns the newest block that has chain events; -1 if there is none. */
    newestBlock(): number;
    /** Returns the greatest log index of a block; -1 if it has no events. */
    lastLog(block: number): number;
  };
  readonly blocks: {
    /** Returns the checkpoint. It has no hash after a rollback that left none. */
    checkpoint(): { readonly number: number; readonly hash: Hex | null } | undefined;
    setCheckpoint(number: number, hash: Hex | null): void;
    /** Lists the stored hashes, newest first. */
    list(): readonly BlockRef[];
    newest(): BlockRef | null;
    getHash(block: number): Hex | undefined;
    /** Stores hashes by block, and deletes those below a block. */
    record(hashes: ReadonlyMap<number, Hex>, forgetBelow: number): void;
    removeAbove(block: number): void;
  };
  readonly firstTrades: {
    record(events: readonly ChainEvent[]): void;
    removeAbove(block: number): void;
  };
  readonly orders: {
    find(uid: Hex): KnownOrder | undefined;
    change(change: RowChange): void;
    /** Appends to the event log. */
    record(event: NewEvent): void;
  };
}

/** Creates the operations that write chain events and the orders that they affect, for a synchronous store. */
export function createChainOperations({ events, blocks, firstTrades, orders }: ChainTables) {
  function readProgress() {
    const checkpoint = blocks.checkpoint();
    const { number, hash = null } = checkpoint ?? {};
    const indexedBlock = number === undefined || hash === null ? null : { number, hash };
    return { number, indexedBlock, rolledBackTo: indexedBlock === null ? number : undefined };
  }

  function project(affected: readonly AffectedOrder[], at: number, pendingValidity?: number): void {
    const projection = projectOrderState(affected, at, pendingValidity);
    projection.rows.forEach(orders.change);
    projection.events.forEach(orders.record);
  }

  /** Replaces chain events by others, then updates the orders that they affect. */
  function replace(
    removed: readonly ChainEvent[],
    added: readonly ChainEvent[],
    at: number,
    pendingValidity?: number,
  ): void {
    const uids = getAffectedUids([...removed, ...added]);
    const before = uids.map((uid) => ({ uid, before: events.listByOrder(uid) }));
    removed.forEach(events.remove);
    added.forEach(events.add);
    const affected = before.map((each) => {
      return { ...each, order: orders.find(each.uid), after: events.listByOrder(each.uid) };
    });
    project(affected, at, pendingValidity);
    firstTrades.record(added);
  }

  return {
    progress(): ChainProgress {
      const { indexedBlock, rolledBackTo } = readProgress();
      return rolledBackTo === undefined ? { indexedBlock } : { indexedBlock, rolledBackTo };
    },
    blocks: blocks.list,
    apply(batch: ChainEventBatch): ApplyOutcome {
      const { through, forgetBelow, at } = batch;
      const { indexedBlock, rolledBackTo } = readProgress();
      if (isBatchStale(batch, indexedBlock, rolledBackTo)) return { status: 'moved', indexedBlock };
      const hashes = blockHashes(batch);
      // A rollback may keep events above the next checkpoint.
      const newest = Math.max(indexedBlock?.number ?? -1, events.newestBlock());
      for (const [number, hash] of hashes) {
        const stored = number > newest ? undefined : (blocks.getHash(number) ?? events.blockHash(number));
        if (stored !== undefined && stored !== hash) {
          return { status: 'conflict', block: number, stored, indexedBlock: indexedBlock ?? through };
        }
      }
      const numbers = new Set(batch.events.map(({ blockNumber }) => blockNumber));
      const adopted = events.listAdopted(getConfirmedRange(batch, indexedBlock));
      const isConfirmed = new Set(adopted.map(formatPosition));
      const stored = [...numbers].flatMap((number) => (number > newest ? [] : events.listOfBlock(number)));
      const indexed = stored.filter((event) => !isConfirmed.has(formatPosition(event)));
      const found = findNewEvents(batch.events, indexed);
      if (found.status === 'contradiction') return toConflict(found.event, indexedBlock ?? through);
      const applied = found.events.length - found.removed.length;
      replace([...adopted, ...found.removed], found.events, at);
      blocks.record(hashes, forgetBelow);
      const next = indexedBlock === null || indexedBlock.number < through.number ? through : indexedBlock;
      if (next !== indexedBlock) blocks.setCheckpoint(next.number, next.hash);
      return { status: 'applied', applied, known: batch.events.length - applied, indexedBlock: next };
    },
    adopt(adopted: readonly OrderChainEvent[], at: number, complete?: readonly Hex[]): number {
      const numbers = new Set(adopted.map(({ blockNumber }) => blockNumber));
      numbers.delete(0);
      const { added, removed } = findAdoptable(adopted, {
        complete,
        ofBlocks: [...numbers].flatMap(events.listOfBlock),
        ofOrder: events.listByOrder,
        lastUnknown: events.lastLog(0),
      });
      replace(removed, added, at);
      return Math.max(added.length, removed.length);
    },
    rollback({ to, after, at, pendingValidity }: RollbackRequest): RollbackOutcome {
      const { number, indexedBlock } = readProgress();
      if (isCursorStale(indexedBlock, after)) return { status: 'moved', indexedBlock };
      const removed = events.listAbove(to);
      replace(removed, [], at, pendingValidity);
      blocks.removeAbove(to);
      firstTrades.removeAbove(to);
      if (number === undefined || number <= to) return { status: 'rolledBack', removed: removed.length, indexedBlock };
      const newestLeft = blocks.newest();
      blocks.setCheckpoint(newestLeft?.number ?? to, newestLeft?.hash ?? null);
      return { status: 'rolledBack', removed: removed.length, indexedBlock: newestLeft };
    },
    /** Applies chain events stored earlier to an order that was just inserted. */
    projectNewOrder(uid: Hex, at: number): void {
      const after = events.listByOrder(uid);
      if (after.length > 0) project([{ uid, order: orders.find(uid), before: [], after }], at);
    },
  };
}

/** Types of chain events. Stores record the index in this list: append only. */
export const CHAIN_EVENT_TYPES = [
  'trade',
  'settlement',
  'invalidation',
  'presignature',
  'placement',
  'refund',
] as const satisfies readonly ChainEvent['type'][];

/** A stored chain event: the columns that a store needs for lookups, and the rest as JSON. */
export type ChainEventRow = readonly [
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

/** Members of chain events that a store has in columns. */
const COLUMNS: readonly string[] = [
  'type',
  'blockNumber',
  'logIndex',
  'blockHash',
  'transactionHash',
  'timestamp',
  'uid',
  'owner',
];

/** Formats the members of a chain event that have no column as JSON. */
export function formatChainEventDetail(event: ChainEvent): string {
  return JSON.stringify(Object.fromEntries(Object.entries(event).filter(([name]) => !COLUMNS.includes(name))));
}

/** Converts a row back to the chain event. */
export function readChainEvent(row: ChainEventRow): ChainEvent {
  const [blockNumber, logIndex, blockHash, transactionHash, timestamp, type, uid, owner, detail] = row;
  return {
    type: CHAIN_EVENT_TYPES[type],
    blockNumber,
    logIndex,
    blockHash,
    transactionHash,
    timestamp,
    ...(uid === null ? {} : { uid }),
    ...(owner === null ? {} : { owner }),
    ...JSON.parse(detail),
  } as ChainEvent; // the inverse of the columns and `formatChainEventDetail`
}

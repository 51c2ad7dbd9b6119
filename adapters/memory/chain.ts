import type {
  ApplyOutcome,
  BlockRef,
  ChainEvent,
  ChainEventBatch,
  ChainEventPruneOutcome,
  ChainEventPruneRequest,
  ChainProgress,
  Hex,
  NewEvent,
  OrderChainEvent,
  PlacementChainEvent,
  RollbackOutcome,
  RollbackRequest,
  SettlementChainEvent,
  TradeChainEvent,
  TradeQuery,
} from 'intentbook';
import { UNKNOWN_HASH } from 'intentbook';
import type { KnownOrder, RowChange } from 'intentbook/store-kit';
import {
  blockHashes,
  compareLogPositions,
  findAdoptable,
  findNewEvents,
  firstTradeBlocks,
  getAffectedUids,
  getConfirmedRange,
  isBatchStale,
  isCursorStale,
  isOrderChainEvent,
  projectOrderState,
  toConflict,
  unpackUid,
} from 'intentbook/store-kit';
import { SortedList } from './sorted-list.ts';

/** Order rows that chain events change. */
export interface MemoryChainTarget {
  find(uid: string): KnownOrder | undefined;
  change(change: RowChange): void;
  record(event: NewEvent): void;
}

/** Chain events in memory. All methods are synchronous, so each is one atomic step. */
export type MemoryChain = ReturnType<typeof createMemoryChain>;

/** Creates chain events without entries. */
export function createMemoryChain(target: MemoryChainTarget) {
  const chainEvents = new SortedList<ChainEvent>(compareLogPositions);
  const byUid = new Map<string, SortedList<OrderChainEvent>>();
  const hashes = new Map<number, Hex>();
  const firstTrades = new Map<string, number>();
  let indexedBlock: BlockRef | null = null;
  let rolledBackTo: number | undefined;

  /** Returns the chain events of an order by log position. */
  const listEventsOfOrder = (uid: string): OrderChainEvent[] => [...(byUid.get(uid)?.from(0) ?? [])];

  function findPlacement(uid: string): PlacementChainEvent | undefined {
    return listEventsOfOrder(uid).find((event) => event.type === 'placement');
  }

  function getStoredHash(block: number): Hex | undefined {
    const at = chainEvents.firstWhere((event) => event.blockNumber >= block);
    for (const event of chainEvents.from(at)) {
      if (hashes.has(block) || event.blockNumber !== block) break;
      if (event.blockHash !== UNKNOWN_HASH) return event.blockHash;
    }
    return hashes.get(block);
  }

  /** Returns the stored events of the blocks of a batch. */
  function listOfBlocks(events: readonly ChainEvent[]): ChainEvent[] {
    return [...new Set(events.map(({ blockNumber }) => blockNumber))].flatMap((block) => {
      const [from, to] = [block, block + 1].map((least) =>
        chainEvents.firstWhere((event) => event.blockNumber >= least),
      );
      return [...chainEvents.from(from ?? 0)].slice(0, (to ?? 0) - (from ?? 0));
    });
  }

  function remove(event: ChainEvent): void {
    chainEvents.remove(event);
    if (!isOrderChainEvent(event)) return;
    const list = byUid.get(event.uid);
    list?.remove(event);
    if (list?.length === 0) byUid.delete(event.uid);
  }

  /** Returns whether the order has ended. A placement is needed until the other events of its order are deleted. */
  function hasOrderEnded({ uid, type }: OrderChainEvent, before: number): boolean {
    if (unpackUid(uid).validTo < before) return true;
    const events = listEventsOfOrder(uid);
    const isEndedPlacement = (event: OrderChainEvent) =>
      event.type === 'placement' && event.userValidTo !== null && event.userValidTo < before;
    return events.some(isEndedPlacement) && (type !== 'placement' || events.every((each) => each.type === type));
  }

  /** Returns whether an event is not needed any more. A settlement follows its trades in the log. */
  function isOld(event: ChainEvent, before: number, trades: ReadonlyMap<Hex, number>): boolean {
    if (isOrderChainEvent(event)) {
      return target.find(event.uid) === undefined && hasOrderEnded(event, before);
    }
    return event.timestamp !== null && (trades.get(event.transactionHash) ?? 0) === 0;
  }

  /** Returns the number of trades of each transaction. */
  function countTrades(): Map<Hex, number> {
    const counts = new Map<Hex, number>();
    for (const { type, transactionHash } of chainEvents.from(0))
      if (type === 'trade') counts.set(transactionHash, (counts.get(transactionHash) ?? 0) + 1);
    return counts;
  }

  function prune({ before, after, limit }: ChainEventPruneRequest): ChainEventPruneOutcome {
    const end = hashes.size > 0 ? Math.min(...hashes.keys()) : (indexedBlock?.number ?? 0);
    const isAfter = (event: ChainEvent) => after === undefined || compareLogPositions(event, after) > 0;
    const examined = [...chainEvents.from(chainEvents.firstWhere(isAfter))]
      .slice(0, limit)
      .filter(({ blockNumber }) => blockNumber < end);
    const young = examined.findIndex(({ timestamp }) => timestamp !== null && timestamp >= before);
    const trades = countTrades();
    let removed = 0;
    for (const event of young < 0 ? examined : examined.slice(0, young)) {
      if (!isOld(event, before, trades)) continue;
      remove(event);
      if (event.type === 'trade') trades.set(event.transactionHash, (trades.get(event.transactionHash) ?? 0) - 1);
      removed++;
    }
    const last = examined.at(-1);
    if (young >= 0 || examined.length < limit || last === undefined) return { removed };
    return { removed, next: { blockNumber: last.blockNumber, logIndex: last.logIndex } };
  }

  function add(event: ChainEvent): void {
    chainEvents.add(event);
    if (!isOrderChainEvent(event)) return;
    const list = byUid.get(event.uid) ?? new SortedList<OrderChainEvent>(compareLogPositions);
    byUid.set(event.uid, list);
    list.add(event);
  }

  /** Runs a change of the chain events, then updates the orders that it affects. */
  function changeAndProject(
    changed: readonly ChainEvent[],
    at: number,
    change: () => void,
    pendingValidity?: number,
  ): void {
    const before = getAffectedUids(changed).map((uid) => ({ uid, before: listEventsOfOrder(uid) }));
    change();
    const affected = before.map((each) => ({
      ...each,
      order: target.find(each.uid),
      after: listEventsOfOrder(each.uid),
    }));
    const { rows, events } = projectOrderState(affected, at, pendingValidity);
    for (const row of rows) target.change(row);
    for (const event of events) target.record(event);
  }

  return {
    progress: (): ChainProgress => ({
      indexedBlock,
      blocks: [...hashes].map(([number, hash]) => ({ number, hash })).sort((a, b) => b.number - a.number),
      ...(rolledBackTo !== undefined && { rolledBackTo }),
    }),

    apply(batch: ChainEventBatch): ApplyOutcome {
      if (isBatchStale(batch, indexedBlock, rolledBackTo)) return { status: 'moved', indexedBlock };
      const batchHashes = blockHashes(batch);
      for (const [number, hash] of batchHashes) {
        const stored = getStoredHash(number);
        if (stored !== undefined && stored !== hash) {
          return { status: 'conflict', block: number, stored, indexedBlock: indexedBlock ?? batch.through };
        }
      }
      const range = getConfirmedRange(batch, indexedBlock);
      const adopted = [...chainEvents.from(chainEvents.firstWhere((event) => event.blockNumber > range.after))].filter(
        ({ blockNumber, blockHash }) => blockNumber <= range.through && blockHash === UNKNOWN_HASH,
      );
      const indexed = listOfBlocks(batch.events).filter((event) => !adopted.includes(event));
      const found = findNewEvents(batch.events, indexed);
      if (found.status === 'contradiction') return toConflict(found.event, indexedBlock ?? batch.through);
      const added = found.events;
      const removed = [...adopted, ...found.removed];
      const applied = added.length - found.removed.length;
      changeAndProject([...removed, ...added], batch.at, () => {
        removed.forEach(remove);
        added.forEach(add);
      });
      for (const [token, first] of firstTradeBlocks(added)) {
        firstTrades.set(token, Math.min(first, firstTrades.get(token) ?? first));
      }
      for (const [number, hash] of batchHashes) hashes.set(number, hash);
      for (const number of hashes.keys()) if (number < batch.forgetBelow) hashes.delete(number);
      if (indexedBlock === null || indexedBlock.number < batch.through.number) indexedBlock = batch.through;
      rolledBackTo = undefined;
      return { status: 'applied', applied, known: batch.events.length - applied, indexedBlock };
    },

    adopt(events: readonly OrderChainEvent[], at: number, complete?: readonly Hex[]): number {
      const lastUnknown = chainEvents.firstWhere(({ blockNumber }) => blockNumber > 0) - 1;
      const { added, removed } = findAdoptable(events, {
        complete,
        ofBlocks: listOfBlocks(events),
        ofOrder: listEventsOfOrder,
        lastUnknown,
      });
      changeAndProject([...removed, ...added], at, () => {
        removed.forEach(remove);
        added.forEach(add);
      });
      for (const [token, first] of firstTradeBlocks(added))
        firstTrades.set(token, Math.min(first, firstTrades.get(token) ?? first));
      return Math.max(added.length, removed.length);
    },

    rollback({ to, after, at, pendingValidity }: RollbackRequest): RollbackOutcome {
      if (isCursorStale(indexedBlock, after)) return { status: 'moved', indexedBlock };
      const removed = [...chainEvents.from(chainEvents.firstWhere((event) => event.blockNumber > to))];
      const change = () => removed.forEach(remove);
      changeAndProject(removed, at, change, pendingValidity);
      for (const [token, first] of firstTrades) if (first > to) firstTrades.delete(token);
      for (const number of hashes.keys()) if (number > to) hashes.delete(number);
      if (indexedBlock !== null && indexedBlock.number > to) {
        const number = Math.max(...hashes.keys());
        const hash = hashes.get(number);
        indexedBlock = hash === undefined ? null : { number, hash };
        if (hash === undefined) rolledBackTo = to;
      } else if (rolledBackTo !== undefined) rolledBackTo = Math.min(rolledBackTo, to);
      return { status: 'rolledBack', removed: removed.length, indexedBlock };
    },

    prune,

    trades({ filter, after, offset = 0, limit }: TradeQuery): TradeChainEvent[] {
      let isMatch: (event: TradeChainEvent) => boolean;
      if ('uid' in filter) isMatch = ({ uid }) => uid === filter.uid;
      else if ('transactionHash' in filter) isMatch = (event) => event.transactionHash === filter.transactionHash;
      else {
        const { account } = filter;
        isMatch = ({ uid, owner }) => owner === account || findPlacement(uid)?.sender === account;
      }
      const source = 'uid' in filter ? listEventsOfOrder(filter.uid) : [...chainEvents.from(0)];
      return source
        .filter((event): event is TradeChainEvent => event.type === 'trade' && isMatch(event))
        .filter((event) => after === undefined || compareLogPositions(event, after) < 0)
        .reverse()
        .slice(offset, offset + limit);
    },

    listEventsOfOrder,

    firstTrade: (token: string): number | undefined => firstTrades.get(token),

    settlements: (transactionHash: Hex): SettlementChainEvent[] =>
      [...chainEvents.from(0)].filter(
        (event): event is SettlementChainEvent =>
          event.type === 'settlement' && event.transactionHash === transactionHash,
      ),

    settlementsOfAuction: (auctionId: number): SettlementChainEvent[] =>
      [...chainEvents.from(0)].filter(
        (event): event is SettlementChainEvent => event.type === 'settlement' && event.auctionId === auctionId,
      ),

    /** Applies chain events stored earlier to an order that was just inserted. */
    projectNewOrder(uid: string, at: number): void {
      const after = listEventsOfOrder(uid);
      if (after.length === 0) return;
      const order = target.find(uid);
      const { rows, events } = projectOrderState([{ uid: uid as Hex, order, before: [], after }], at); // a row's
      for (const row of rows) target.change(row);
      for (const event of events) target.record(event);
    },
  };
}

import type {
  ApplyOutcome,
  BlockRef,
  ChainEvent,
  ChainEventBatch,
  ChainProgress,
  Hex,
  NewEvent,
  OrderChainEvent,
  RollbackOutcome,
  RollbackRequest,
  SettlementChainEvent,
  TradeChainEvent,
  TradeQuery,
} from 'intentbook';
import type { KnownOrder, RowChange } from 'intentbook/store-kit';
import {
  blockHashes,
  compareLogPositions,
  firstTradeBlocks,
  getAffectedUids,
  isCursorStale,
  isOrderChainEvent,
  projectOrderState,
} from 'intentbook/store-kit';
import { SortedList } from './sorted-list.ts';

/** The rows that facts change. */
export interface MemoryChainTarget {
  find(uid: string): KnownOrder | undefined;
  change(change: RowChange): void;
  record(event: NewEvent): void;
  /** The UIDs of the orders that an account has placed on chain. */
  placedBy(account: string): Iterable<string>;
}

/** What the chain has said. Nothing here awaits, so every verb is one step. */
export interface MemoryChain {
  progress(): ChainProgress;
  apply(batch: ChainEventBatch): ApplyOutcome;
  rollback(request: RollbackRequest): RollbackOutcome;
  trades(query: TradeQuery): TradeChainEvent[];
  settlements(transactionHash: Hex): SettlementChainEvent[];
  /** What the chain has said of an order, in its order. */
  eventsOfOrder(uid: string): OrderChainEvent[];
  settlementsOfAuction(auctionId: number): SettlementChainEvent[];
  firstTrade(token: string): number | undefined;
  /** Folds the facts of an order that has just been inserted into its row. */
  fold(uid: string, at: number): void;
}

export function createMemoryChain(target: MemoryChainTarget): MemoryChain {
  const facts = new SortedList<ChainEvent>(compareLogPositions);
  const byUid = new Map<string, SortedList<OrderChainEvent>>();
  const hashes = new Map<number, Hex>();
  const firstTrades = new Map<string, number>();
  let indexedBlock: BlockRef | null = null;

  const factsOf = (uid: string): OrderChainEvent[] => [...(byUid.get(uid)?.from(0) ?? [])];

  function knownHash(block: number): Hex | undefined {
    const at = facts.firstWhere((fact) => fact.blockNumber >= block);
    const [fact] = facts.from(at);
    return hashes.get(block) ?? (fact?.blockNumber === block ? fact.blockHash : undefined);
  }

  function isStored(fact: ChainEvent): boolean {
    const [found] = facts.from(facts.indexOf(fact));
    return found !== undefined && compareLogPositions(found, fact) === 0;
  }

  function add(fact: ChainEvent): void {
    facts.add(fact);
    if (!isOrderChainEvent(fact)) return;
    const list = byUid.get(fact.uid) ?? new SortedList<OrderChainEvent>(compareLogPositions);
    byUid.set(fact.uid, list);
    list.add(fact);
  }

  /** Runs a change of the facts, then brings the orders it touches in line. */
  function judged(touched: readonly ChainEvent[], at: number, change: () => void): void {
    const before = getAffectedUids(touched).map((uid) => ({ uid, before: factsOf(uid) }));
    change();
    const affected = before.map((each) => ({ ...each, order: target.find(each.uid), after: factsOf(each.uid) }));
    const { rows, events } = projectOrderState(affected, at);
    for (const row of rows) target.change(row);
    for (const event of events) target.record(event);
  }

  return {
    progress: () => ({
      indexedBlock,
      blocks: [...hashes].map(([number, hash]) => ({ number, hash })).sort((a, b) => b.number - a.number),
    }),

    apply(batch) {
      if (isCursorStale(indexedBlock, batch.after)) return { status: 'moved', indexedBlock };
      const named = blockHashes(batch);
      for (const [number, hash] of named) {
        const stored = knownHash(number);
        if (stored !== undefined && stored !== hash) {
          return { status: 'conflict', block: number, stored, indexedBlock: indexedBlock ?? batch.through };
        }
      }
      const fresh = batch.events.filter((fact) => !isStored(fact));
      judged(fresh, batch.at, () => fresh.forEach(add));
      for (const [token, first] of firstTradeBlocks(fresh)) {
        firstTrades.set(token, Math.min(first, firstTrades.get(token) ?? first));
      }
      for (const [number, hash] of named) hashes.set(number, hash);
      for (const number of hashes.keys()) if (number < batch.forgetBelow) hashes.delete(number);
      if (indexedBlock === null || indexedBlock.number < batch.through.number) indexedBlock = batch.through;
      return { status: 'applied', applied: fresh.length, known: batch.events.length - fresh.length, indexedBlock };
    },

    rollback({ to, after, at }) {
      if (isCursorStale(indexedBlock, after)) return { status: 'moved', indexedBlock };
      const gone = [...facts.from(facts.firstWhere((fact) => fact.blockNumber > to))];
      judged(gone, at, () => {
        for (const fact of gone) {
          facts.remove(fact);
          if (!isOrderChainEvent(fact)) continue;
          const list = byUid.get(fact.uid);
          list?.remove(fact);
          if (list?.length === 0) byUid.delete(fact.uid);
        }
      });
      for (const [token, first] of firstTrades) if (first > to) firstTrades.delete(token);
      for (const number of hashes.keys()) if (number > to) hashes.delete(number);
      if (indexedBlock !== null && indexedBlock.number > to) {
        const number = Math.max(...hashes.keys());
        const hash = hashes.get(number);
        indexedBlock = hash === undefined ? null : { number, hash };
      }
      return { status: 'rolledBack', removed: gone.length, indexedBlock };
    },

    trades({ filter, offset = 0, limit }) {
      let wanted: (fact: TradeChainEvent) => boolean;
      if ('uid' in filter) wanted = ({ uid }) => uid === filter.uid;
      else if ('transactionHash' in filter) wanted = (fact) => fact.transactionHash === filter.transactionHash;
      else {
        const placed = new Set(target.placedBy(filter.account));
        wanted = ({ uid, owner }) => owner === filter.account || placed.has(uid);
      }
      const source = 'uid' in filter ? factsOf(filter.uid) : [...facts.from(0)];
      return source
        .filter((fact): fact is TradeChainEvent => fact.type === 'trade' && wanted(fact))
        .reverse()
        .slice(offset, offset + limit);
    },

    eventsOfOrder: factsOf,

    firstTrade: (token) => firstTrades.get(token),

    settlements: (transactionHash) =>
      [...facts.from(0)].filter(
        (fact): fact is SettlementChainEvent => fact.type === 'settlement' && fact.transactionHash === transactionHash,
      ),

    settlementsOfAuction: (auctionId) =>
      [...facts.from(0)].filter(
        (fact): fact is SettlementChainEvent => fact.type === 'settlement' && fact.auctionId === auctionId,
      ),

    fold(uid, at) {
      const after = factsOf(uid);
      if (after.length === 0) return;
      const { rows, events } = projectOrderState([{ uid: uid as Hex, order: target.find(uid), before: [], after }], at); // a row's
      for (const row of rows) target.change(row);
      for (const event of events) target.record(event);
    },
  };
}

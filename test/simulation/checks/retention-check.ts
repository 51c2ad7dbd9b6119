import type {
  ChainEventPruneOutcome,
  ChainEventPruneRequest,
  LogPruneRequest,
  OrderInsert,
  PruneRequest,
  Store,
} from 'intentbook';
import type { FactPosition, SettlementPosition } from '../chain/chain.ts';
import { getSignedValidity } from '../chain/placements.ts';
import type { Pool } from '../orders/pool.ts';
import type { RetentionAges } from '../plan/retention-ages.ts';
import type { LogCheck } from './log-check.ts';
import type { Model } from './model.ts';
import type { Report } from './store-observer.ts';

/** Checks that retention deletes exactly the old data, and no more. */
export interface RetentionCheck {
  /**
   * Follows a deletion of orders. Returns whether any was deleted.
   *
   * @param blockTime - The time of the newest block so far, in seconds since 1970.
   */
  onOrders(request: PruneRequest, removed: number, blockTime: number): Promise<boolean>;
  /** Remembers an insertion. The same one must fail after the order was cancelled and deleted. */
  onInserted(order: number, insert: OrderInsert): void;
  /** Checks a deletion of log entries, and the start of the remaining log. */
  onEvents(request: LogPruneRequest, removed: number): Promise<void>;
  /**
   * Checks a deletion of chain events. Returns the keys of the deleted ones.
   *
   * @param positions - The stored chain events, in chain order.
   * @param settlements - The stored settlements, in chain order.
   */
  onChainEvents(
    request: ChainEventPruneRequest,
    outcome: ChainEventPruneOutcome,
    positions: readonly FactPosition[],
    settlements: readonly SettlementPosition[],
  ): Promise<readonly string[]>;
}

export interface RetentionCheckContext {
  readonly inner: () => Store;
  readonly model: Model;
  readonly pool: Pool;
  readonly log: LogCheck;
  /** The ages of the books. `undefined`: they delete nothing themselves. */
  readonly ages: RetentionAges | undefined;
  /** Called with orders before they are deleted. */
  readonly onRemove: (orders: readonly number[]) => void;
  readonly report: Report;
}

export function createRetentionCheck(context: RetentionCheckContext): RetentionCheck {
  const { inner, model, pool, log, ages, onRemove, report } = context;

  const inserts = new Map<number, OrderInsert>();

  /** Returns whether an order that is not stored has ended, so that a chain event of it is not needed any more. */
  function isOld({ fact }: FactPosition, stored: readonly FactPosition[], before: number): boolean {
    const order = pool.orders[fact.order];
    if (order === undefined || model.placed.has(fact.order)) return false;
    if (order.placedBy === undefined) return order.validTo < before;
    const own = stored.filter((each) => each.fact.order === fact.order);
    const isPlacement = (each: FactPosition) => each.fact.type === 'placement';
    if (getSignedValidity(order) < before) return true;
    const hasEnded = order.validTo < before && own.some(isPlacement);
    return hasEnded && (fact.type !== 'placement' || own.every(isPlacement));
  }

  /** Returns whether a trade of a settlement is stored. */
  function hasTrade({ transactionHash }: SettlementPosition, stored: readonly FactPosition[]): boolean {
    return stored.some(({ fact }) => fact.type === 'trade' && fact.transactionHash === transactionHash);
  }

  /** Checks that deleted orders that were cancelled off chain cannot be inserted again. */
  async function checkTombstones(orders: readonly number[]): Promise<void> {
    for (const n of orders) {
      const insert = inserts.get(n);
      if (insert === undefined || !model.tombstones.has(n)) continue;
      const [outcome] = await inner().orders.insert([insert]);
      if (outcome?.status !== 'duplicate')
        report('retention', `the cancelled order ${n} was deleted, but can be inserted again: ${outcome?.status}`);
    }
  }

  return {
    onInserted: (order, insert) => void inserts.set(order, insert),
    async onOrders({ before, limit, tombstonesBefore }, removed, blockTime) {
      // A book never trusts a clock that is ahead of the chain.
      if (tombstonesBefore !== undefined && before > blockTime - (ages?.orders ?? 0))
        report('retention', `orders before ${before} were deleted, the newest block is from ${blockTime}`);
      if (tombstonesBefore !== undefined) model.releaseTombstones(tombstonesBefore);
      const ended = model.listEnded(before);
      if (removed !== Math.min(ended.length, limit))
        report('retention', `${removed} orders before ${before} were deleted, expected ${ended.length}: ${ended}`);
      onRemove(ended);
      model.remove(ended);
      for (const n of ended) log.forget(n);
      await checkTombstones(ended);
      return ended.length > 0;
    },
    async onEvents(request, removed) {
      const expected = log.prune(request);
      if (removed !== expected)
        report('retention', `${removed} log entries up to ${request.through} were deleted, expected ${expected}`);
      const { events, retention } = inner();
      const [[first], pruned] = await Promise.all([events.after(0, 1), retention.prunedThrough()]);
      const [next] = log.after(log.prunedThrough);
      if (first?.id !== next?.id || pruned !== log.prunedThrough)
        report('retention', `the log begins with ${first?.id} after ${pruned}, expected ${next?.id}`);
    },
    async onChainEvents({ before, after, limit }, { removed }, positions, settlements) {
      const { chain } = inner();
      const [{ indexedBlock }, blocks] = await Promise.all([chain.progress(), chain.blocks()]);
      const end = Math.min(...blocks.map(({ number }) => number), indexedBlock?.number ?? 0);
      const isAfter = ({ number, logIndex }: Omit<FactPosition, 'fact'>) =>
        after === undefined ||
        number > after.blockNumber ||
        (number === after.blockNumber && logIndex > after.logIndex);
      const keys: string[] = [];
      let stored = positions;
      const all = [...positions, ...settlements].sort((a, b) => a.number - b.number || a.logIndex - b.logIndex);
      for (const each of all.filter(isAfter).slice(0, limit)) {
        if (each.number >= end || each.timestamp >= before) break;
        if (!('fact' in each ? isOld(each, stored, before) : !hasTrade(each, stored))) continue;
        keys.push(each.key);
        stored = stored.filter((other) => other !== each);
      }
      if (removed !== keys.length)
        report('retention', `${removed} chain events before ${before} were deleted, expected ${keys.length}: ${keys}`);
      return keys;
    },
  };
}

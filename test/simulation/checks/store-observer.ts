import type {
  ApplyOutcome,
  CancelOutcome,
  CancelRequest,
  ChainEventBatch,
  ChainEventPruneOutcome,
  ChainEventPruneRequest,
  Hex,
  InsertOutcome,
  LogPruneRequest,
  NewQuote,
  OrderInsert,
  OrderQuote,
  PruneRequest,
  QuoteQuery,
  ReinstateRequest,
  RollbackOutcome,
  Store,
} from 'intentbook';
import type { ChainFact, SettlementPosition, SimulatedChain } from '../chain/chain.ts';
import { listPositions, listSettlements } from '../chain/chain.ts';
import type { Competitions } from '../chain/competitions.ts';
import { OWNING_CONTRACT, PLACING_CONTRACT } from '../chain/placements.ts';
import type { SettlementMode } from '../chain/settlements.ts';
import type { Pool } from '../orders/pool.ts';
import type { PoolOrder } from '../orders/pool-order.ts';
import { QUOTAS } from '../orders/pool-order.ts';
import type { RetentionAges } from '../plan/retention-ages.ts';
import type { LogCheck } from './log-check.ts';
import { createLogCheck } from './log-check.ts';
import type { Model } from './model.ts';
import { select } from './model.ts';
import type { QuoteCheck } from './quote-check.ts';
import { createRetentionCheck } from './retention-check.ts';
import { createSettlementCheck, getEventKey } from './settlement-check.ts';

/** Reports a broken invariant. The first one ends the simulation. */
export type Report = (invariant: string, details: string) => void;

/** Follows the atomic steps of a store in the model, and compares both after each step. */
export interface StoreObserver {
  onInsert(process: string, inserts: readonly OrderInsert[], outcomes: readonly InsertOutcome[]): Promise<void>;
  onCall(name: string, args: readonly unknown[], result: unknown): Promise<void>;
  /**
   * Follows a deletion of the documents of orders that ended before a time, in seconds since 1970.
   *
   * @param time - By the clock of the process, in milliseconds since 1970.
   */
  onDocuments(before: number, time: number): void;
  /** Compares all rows, listings and counters with the model. @param now - Seconds since 1970. */
  compare(now: number): Promise<void>;
  /** The insertions of each order, for the checks of clients. */
  readonly insertions: readonly Insertion[];
  readonly log: LogCheck;
  /** Returns the states of the chain events from one commit to another. */
  statesBetween(from: number, to: number): readonly IndexedState[];
  /** Checks that the chain is indexed up to a block, and no chain event is missing any more. */
  requireAllFacts(head: Hex, notify: Report): void;
}

/** The calls of a store that the observer follows, besides insertions. */
export const OBSERVED_CALLS: ReadonlySet<string> = new Set([
  'orders.cancel',
  'orders.expire',
  'orders.reinstate',
  'orders.prune',
  'retention.pruneEvents',
  'retention.pruneChainEvents',
  'chain.apply',
  'chain.rollback',
  'quotes.insert',
  'quotes.match',
  'quotes.prune',
]);

/** The chain events that are stored. */
export interface IndexedState {
  /** Number of the block of the checkpoint. 0: none was indexed. */
  readonly number: number;
  /** In chain order. */
  readonly facts: readonly ChainFact[];
  readonly settlements: readonly Pick<SettlementPosition, 'transactionHash' | 'number'>[];
}

export interface Insertion {
  readonly order: number;
  readonly commit: number;
  readonly process: string;
  readonly quote: OrderQuote | undefined;
  /** Whether a client has received the result. */
  isAcknowledged: boolean;
}

export interface StoreObserverContext {
  readonly inner: () => Store;
  readonly model: Model;
  readonly pool: Pool;
  readonly quotes: QuoteCheck;
  readonly chain: SimulatedChain;
  /** Whether a node has hidden the logs of a block. */
  readonly isHidden: (hash: string) => boolean;
  /** The ages at which the books delete old data. */
  readonly retention: RetentionAges | undefined;
  /** The orders of settlements that the books store. */
  readonly settlements: SettlementMode;
  /** Returns the auction that a settlement names. */
  readonly findAttribution: Competitions['findAttribution'];
  /** Returns the virtual time in milliseconds. */
  readonly time: () => number;
  /** Returns the true time, in seconds since 1970. */
  readonly now: () => number;
  /** Called with orders before they are deleted. */
  readonly onRemove: (orders: readonly number[]) => void;
  readonly report: Report;
  readonly onEvents: () => void;
}

export function createStoreObserver(context: StoreObserverContext): StoreObserver {
  const { model, pool, chain, quotes, report } = context;
  const insertions: Insertion[] = [];
  const log = createLogCheck({ model, pool, report });
  const { inner, retention: ages, onRemove, findAttribution, time } = context;
  const settlements = createSettlementCheck({
    inner,
    model,
    pool,
    mode: context.settlements,
    findAttribution,
    time,
    report,
  });
  const retention = createRetentionCheck({ inner, model, pool, log, ages, onRemove, report });
  /** Keys of the chain events that are stored. */
  const applied = new Set<string>();
  const uids = pool.orders.map(({ uid }) => uid);
  const accounts = [...pool.owners, PLACING_CONTRACT, OWNING_CONTRACT];
  /** The listing and the counters of each account at its last comparison. */
  const compared: { readonly open: number; readonly pending: number; readonly listed: string }[] = [];
  const order = (n: number) => pool.orders[n] as PoolOrder; // indexes are those of the pool
  let checkpoint: Hex | undefined;
  const states: (IndexedState & { readonly commit: number })[] = [{ commit: 0, number: 0, facts: [], settlements: [] }];
  /** Keys of chain events that retention has deleted. */
  const pruned = new Set<string>();
  /** Orders that ended by a clock and blocks that were ahead, when documents were deleted. */
  const withoutDocument = new Set<number>();
  /** Keys of events that are missing at the checkpoint, because a node had hidden them. */
  let missing: readonly string[] = [];

  const expect = (invariant: string, actual: unknown, expected: unknown, details = '') => {
    if (actual !== expected) report(invariant, `${details} got ${String(actual)}, expected ${String(expected)}`.trim());
  };

  function readFacts(): void {
    const block = checkpoint === undefined ? undefined : chain.find(checkpoint);
    const positions = block === undefined ? [] : listPositions(block);
    missing = positions.map(({ key }) => key).filter((key) => !applied.has(key) && !pruned.has(key));
    const lost = missing.find((key) => !context.isHidden(key.split(' ')[0] ?? ''));
    if (lost !== undefined) report('totals', `the chain event ${lost} is missing at the checkpoint`);
    model.setFacts(positions.filter(({ key }) => applied.has(key)));
    addState();
  }

  function onApply(batch: ChainEventBatch, outcome: ApplyOutcome): boolean {
    if (outcome.status !== 'applied') return false;
    settlements.onApply(batch, (key) => applied.has(key));
    for (const event of batch.events) {
      const key = getEventKey(event);
      applied.add(key);
      pruned.delete(key);
    }
    checkpoint = outcome.indexedBlock.hash;
    expect('checkpoint', checkpoint, batch.through.hash);
    readFacts();
    return true;
  }

  function onRollback(outcome: RollbackOutcome): boolean {
    if (outcome.status !== 'rolledBack') return false;
    checkpoint = outcome.indexedBlock?.hash;
    const block = checkpoint === undefined ? undefined : chain.find(checkpoint);
    const stays = block === undefined ? [] : [...listPositions(block), ...listSettlements(block)];
    const kept = new Set(stays.map(({ key }) => key));
    for (const key of [...applied]) if (!kept.has(key)) applied.delete(key);
    readFacts();
    return true;
  }

  /** Returns the stored chain events up to the checkpoint. */
  function listStored() {
    const block = checkpoint === undefined ? undefined : chain.find(checkpoint);
    return block === undefined ? [] : listPositions(block).filter(({ key }) => applied.has(key));
  }

  /** Returns the stored settlements up to the checkpoint. */
  function listStoredSettlements() {
    const block = checkpoint === undefined ? undefined : chain.find(checkpoint);
    return block === undefined ? [] : listSettlements(block).filter(({ key }) => applied.has(key));
  }

  function addState(): void {
    const number = (checkpoint === undefined ? undefined : chain.find(checkpoint))?.number ?? 0;
    states.push({ commit: model.commit + 1, number, facts: model.facts, settlements: listStoredSettlements() });
  }

  async function onChainEventsPruned(request: ChainEventPruneRequest, outcome: ChainEventPruneOutcome): Promise<void> {
    const keys = await retention.onChainEvents(request, outcome, listStored(), listStoredSettlements());
    if (keys.length === 0) return;
    for (const key of keys) {
      applied.delete(key);
      pruned.add(key);
    }
    model.setFacts(listStored());
    addState();
    await endStep(request.before);
  }

  function onCancel({ uids, now }: CancelRequest, outcome: CancelOutcome): boolean {
    const orders = uids.map((uid) => pool.byUid.get(uid)?.index ?? -1);
    const expected = model.cancel(orders, now);
    expect('cancellation', outcome.status === 'cancelled' ? 'cancelled' : outcome.reason, expected, orders.join());
    return expected === 'cancelled';
  }

  async function endStep(now: number): Promise<void> {
    model.endCommit();
    await compareRows();
    await compareAccounts(now, model.commit % accounts.length);
    await readLog();
    context.onEvents();
  }

  async function readLog(): Promise<void> {
    for (let isFull = true; isFull; ) {
      const events = await context.inner().events.after(log.last, 500);
      for (const event of events) log.add(event);
      isFull = events.length === 500;
    }
    log.compare();
  }

  /** Returns when the document of an order begins to be old, in seconds since 1970. An order may be created later. */
  function getEnd(n: number): number {
    const { creationDate = 0 } = model.show(n) ?? {};
    return Math.max(order(n).validTo, Math.floor(creationDate / 1000));
  }

  /** Returns whether the document of an order is old. Its order may be kept longer, for example until it is expired. */
  function hasOldDocument(n: number): boolean {
    const isOld = ages?.documents !== undefined && getEnd(n) < context.now() - ages.documents;
    return isOld || withoutDocument.has(n);
  }

  async function compareRows(): Promise<void> {
    const rows = new Map((await context.inner().orders.get(uids)).map((row) => [row.uid as string, row]));
    for (const { uid, index } of pool.orders) {
      const row = rows.get(uid);
      const shown = model.show(index);
      const document = order(index).creation?.appData;
      // A settlement contains the hash only.
      const isDeleted = row?.fullAppData === null && (shown?.isJustInTime || hasOldDocument(index));
      if (row !== undefined && document !== undefined && !isDeleted && row.fullAppData !== document)
        report('retention', `order ${index} has the document ${row.fullAppData}, expected ${document}`);
      const isEqual =
        row?.state === shown?.state &&
        row?.creationDate === shown?.creationDate &&
        row?.executedSellAmount === shown?.sold &&
        row?.executedBuyAmount === shown?.bought;
      if (isEqual) continue;
      const actual = row && `${row.state} ${row.creationDate} ${row.executedSellAmount}/${row.executedBuyAmount}`;
      const expected = shown && `${shown.state} ${shown.creationDate} ${shown.sold}/${shown.bought}`;
      report('rows', `order ${index}: got ${actual}, expected ${expected}`);
    }
  }

  /**
   * Compares the listings and counters of the accounts that have changed since the last comparison, and of a further
   * one. All comparisons after each step would take more time than the steps.
   *
   * @param further - Index of the further account. Absent: all accounts.
   */
  async function compareAccounts(now: number, further?: number): Promise<void> {
    const { orders } = context.inner();
    for (const [i, owner] of accounts.entries()) {
      const expected = {
        open: model.count(owner, 'open', now),
        pending: model.count(owner, 'pending', now),
        listed: model.list(owner).join(),
      };
      const last = compared[i];
      const isEqual =
        last?.open === expected.open && last.pending === expected.pending && last.listed === expected.listed;
      if (isEqual && further !== undefined && further !== i) continue;
      compared[i] = expected;
      const { open, pending } = await orders.count(owner, now);
      expect('counters', open, expected.open, `open of owner ${owner} at ${now}:`);
      expect('counters', pending, expected.pending, `pending of owner ${owner} at ${now}:`);
      const listed = (await orders.list({ owner, limit: 1000 })).map(({ uid }) => uid).join();
      expect('listings', listed, expected.listed, `owner ${owner}:`);
    }
  }

  return {
    insertions,
    async compare(now) {
      await compareRows();
      await compareAccounts(now);
    },
    log,
    statesBetween: (from, to) => select(states, from, to),
    requireAllFacts(head, notify) {
      if (checkpoint !== head) notify('liveness', `the checkpoint is ${checkpoint}, the newest block ${head}`);
      for (const key of missing) notify('totals', `the chain event ${key} was hidden once and is still missing`);
    },
    async onInsert(process, inserts, outcomes) {
      let hasChanged = false;
      let at = 0;
      for (const [i, insert] of inserts.entries()) {
        const { order, quota } = insert;
        const found = pool.byUid.get(order.uid);
        if (found === undefined || found.rejection !== undefined) {
          report('refused', `an invalid order was inserted: ${found?.rejection ?? order.uid}`);
          continue;
        }
        at = order.creationDate;
        const expected = model.insert(found.index, at);
        const outcome = outcomes[i];
        const actual =
          outcome?.status === 'notReplaceable' ? `notReplaceable ${outcome.reason}` : (outcome?.status ?? 'none');
        expect('admission', actual, expected, `order ${found.index}:`);
        expect('quotas', quota, QUOTAS[found.quotaClass], `limit of order ${found.index}:`);
        if (expected !== 'inserted') continue;
        withoutDocument.delete(found.index);
        const { quote } = order;
        quotes.onInserted(found.index, quote);
        retention.onInserted(found.index, insert);
        insertions.push({ order: found.index, commit: model.commit + 1, process, quote, isAcknowledged: false });
        hasChanged = true;
      }
      if (hasChanged) await endStep(Math.floor(at / 1000));
    },
    onDocuments(before, time) {
      const maxAge = ages?.documents ?? 0;
      if (before > time / 1000 - maxAge || before > chain.latestTime - maxAge) return;
      for (const n of model.placed.keys()) if (getEnd(n) < before) withoutDocument.add(n);
    },
    async onCall(name, args, result) {
      const [first] = args;
      // The arguments and results are those of the port.
      switch (name) {
        case 'orders.cancel': {
          const request = first as CancelRequest;
          if (onCancel(request, result as CancelOutcome)) await endStep(request.now);
          break;
        }
        case 'orders.expire': {
          const now = first as number;
          const expected = model.expire(now);
          expect('expiry', result, expected, `expired at ${now}:`);
          if (expected > 0) await endStep(now);
          break;
        }
        case 'orders.reinstate': {
          const { validFrom, at } = first as ReinstateRequest;
          const expected = model.reinstate(validFrom);
          expect('expiry', result, expected, `reinstated at ${validFrom}:`);
          if (expected > 0) await endStep(Math.floor(at / 1000));
          break;
        }
        case 'orders.prune': {
          const request = first as PruneRequest;
          if (await retention.onOrders(request, result as number, chain.latestTime)) await endStep(request.before);
          break;
        }
        case 'retention.pruneEvents':
          await retention.onEvents(first as LogPruneRequest, result as number);
          break;
        case 'retention.pruneChainEvents':
          await onChainEventsPruned(first as ChainEventPruneRequest, result as ChainEventPruneOutcome);
          break;
        case 'chain.apply': {
          const batch = first as ChainEventBatch;
          if (onApply(batch, result as ApplyOutcome)) await endStep(Math.floor(batch.at / 1000));
          break;
        }
        case 'quotes.insert':
          quotes.onStored(first as NewQuote, result as number);
          break;
        case 'quotes.match':
          quotes.onMatch(first as QuoteQuery, result as OrderQuote | undefined);
          break;
        case 'quotes.prune':
          quotes.onPruned(first as number, args[1] as number, result as number);
          break;
        case 'chain.rollback':
          if (!onRollback(result as RollbackOutcome)) break;
          await settlements.onRollback();
          await endStep(Math.floor((first as { at: number }).at / 1000));
          break;
      }
    },
  };
}

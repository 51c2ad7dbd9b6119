import type { ChainEvent, ChainEventBatch, NewOrder, Store } from 'intentbook';
import type { Competitions } from '../chain/competitions.ts';
import type { SettlementMode } from '../chain/settlements.ts';
import { hasOtherTerms } from '../chain/settlements.ts';
import type { Pool } from '../orders/pool.ts';
import type { Model } from './model.ts';
import type { Report } from './store-observer.ts';

/** Checks that trades are stored with their order exactly if the book does not have it, and stores such orders. */
export interface SettlementCheck {
  /** Follows a batch of chain events. Called before the model has them. */
  onApply(batch: ChainEventBatch, isStored: (key: string) => boolean): void;
  /** Checks that cancelled orders that a rollback has deleted cannot be inserted again. */
  onRollback(): Promise<void>;
}

export interface SettlementCheckContext {
  readonly inner: () => Store;
  readonly model: Model;
  readonly pool: Pool;
  readonly mode: SettlementMode;
  readonly findAttribution: Competitions['findAttribution'];
  /** Returns the virtual time in milliseconds. */
  readonly time: () => number;
  readonly report: Report;
}

/** Returns the key of a chain event, as those of facts. */
export const getEventKey = ({ blockHash, logIndex }: ChainEvent) => `${blockHash} ${logIndex}`;

export function createSettlementCheck(context: SettlementCheckContext): SettlementCheck {
  const { inner, model, pool, mode, findAttribution, time, report } = context;
  /** The commit of the last batch. A later one was read after it. */
  let previous = 0;
  let previousTime = 0;
  /** The orders that settlements have added, and whose tombstone was not checked. */
  const added = new Map<number, NewOrder>();

  const findOrder = (uid: string) => pool.byUid.get(uid)?.index ?? -1;

  /** Returns whether an order may have been stored, and whether it must have been stored, while a batch was read. */
  function explain(uid: string, placed: ReadonlySet<string>) {
    if (placed.has(uid)) return { mayBe: true, mustBe: true };
    const versions = model.between(findOrder(uid), previous, model.commit).map(({ shown }) => shown);
    const isStored = (shown: unknown) => shown !== undefined;
    return { mayBe: versions.some(isStored), mustBe: versions.every(isStored) };
  }

  return {
    onApply({ events }, isStored) {
      const placed = new Set(events.flatMap((event) => (event.type === 'placement' ? event.uid : [])));
      const trades = events.flatMap((event) => (event.type === 'trade' ? event : []));
      for (const event of trades) {
        const { uid, transactionHash, order } = event;
        const key = getEventKey(event);
        if (isStored(key)) continue;
        const own = explain(uid, placed);
        const others = trades.filter((each) => each.transactionHash === transactionHash).map((each) => each.uid);
        const isOwn = (each: string) => explain(each, placed);
        const attribution = findAttribution(transactionHash, event.blockNumber, previousTime);
        const isUnnamed = mode === 'own' && attribution === 'none';
        const mayAdd =
          mode === 'all' ||
          attribution === 'possible' ||
          attribution === 'certain' ||
          (isUnnamed && others.some((each) => isOwn(each).mayBe));
        const mustAdd =
          mode === 'all' || attribution === 'certain' || (isUnnamed && others.some((each) => isOwn(each).mustBe));
        const isReadable = !hasOtherTerms(pool.orders[findOrder(uid)]);
        if (order !== undefined && (own.mustBe || !mayAdd || !isReadable))
          report('settlements', `the trade ${key} of order ${findOrder(uid)} must not add the order`);
        if (order === undefined && !own.mayBe && mustAdd && isReadable)
          report('settlements', `the trade ${key} of order ${findOrder(uid)} must add the order`);
        if (order === undefined) model.tradesWithOrder.delete(key);
        else {
          model.tradesWithOrder.add(key);
          added.set(findOrder(uid), order);
        }
      }
      previous = model.commit + 1;
      previousTime = time();
    },
    async onRollback() {
      for (const [n, order] of added) {
        if (!model.tombstones.has(n)) continue;
        added.delete(n);
        const [outcome] = await inner().orders.insert([{ order }]);
        if (outcome?.status !== 'duplicate')
          report('settlements', `the cancelled order ${n} was deleted, but can be inserted again: ${outcome?.status}`);
      }
    },
  };
}

import type { AccountStore, AppendOutcome, ClaimedDelivery, NotificationBatch } from 'intentbook';
import type { ChainFact } from '../chain/chain.ts';
import type { Pool } from '../orders/pool.ts';
import type { Model } from './model.ts';
import { SHORTFALL } from './shortfall-check.ts';
import type { Report } from './store-observer.ts';

/** Checks the notifications of a simulation that has come to rest. */
export interface NotificationCheck {
  /** Checks that each range of the log is processed once, in order. */
  onAppend(batch: NotificationBatch, outcome: AppendOutcome): void;
  /** Follows the deletion of orders. Their notifications stay. Called before they are deleted. */
  onRemove(orders: readonly number[]): void;
  /** The last entry of the log that is processed. */
  readonly processed: number;
  /** Checks that claimed deliveries have the newest texts of their notifications. */
  onClaim(deliveries: readonly ClaimedDelivery[]): void;
  /** Checks that a delivery was claimed. */
  onArrival(body: string): void;
  /** Compares the visible notifications and the log with the model. */
  compare(notify: Report): Promise<void>;
}

/** The notifications of an order when it was deleted. */
interface ArchivedNotifications {
  readonly texts: readonly string[];
  /** Notifications that may not exist. */
  readonly uncertain: ReadonlySet<string>;
  /** Whether the log entries of the order were processed before. */
  readonly isComplete: boolean;
}

/** Whether a notification depends on the chain and the log only. Others depend on quotes or balances. */
const isOfLog = (description: string) =>
  !description.startsWith('price_improvement') && !description.startsWith(SHORTFALL);

const describeCancellation = ({ order, transactionHash }: ChainFact) => `order_cancelled ${order} ${transactionHash}`;

export function createNotificationCheck(
  store: AccountStore,
  {
    model,
    pool,
    report,
    isHidden,
    lastEntry,
  }: {
    readonly model: Model;
    readonly pool: Pool;
    readonly report: Report;
    /** Whether a node has hidden the logs of a transaction. */
    readonly isHidden: (transactionHash: string) => boolean;
    /** Returns the id of the newest log entry. */
    readonly lastEntry: () => number;
  },
): NotificationCheck {
  /** Notifications of deleted orders, by order. */
  const archive = new Map<number, ArchivedNotifications>();

  /** Returns the notifications of deleted orders of an owner: those that must exist, and those that may exist. */
  function listArchived(signer: number): { readonly required: readonly string[]; readonly optional: Set<string> } {
    const required: string[] = [];
    const optional = new Set<string>();
    for (const [n, { texts, uncertain, isComplete }] of archive) {
      if (pool.orders[n]?.signer !== signer) continue;
      // An order that exists again has the notifications of both lives. A rollback of its placement withdraws them.
      const isRequired = isComplete && !model.placed.has(n) && !isRolledBack(n);
      for (const text of texts) {
        if (isRequired && !uncertain.has(text)) required.push(text);
        else optional.add(text);
      }
    }
    return { required, optional };
  }

  /**
   * Returns whether a rollback has deleted an order: its placement is not part of the chain any more, or a settlement
   * had added it again.
   */
  function isRolledBack(n: number): boolean {
    if (pool.orders[n]?.placedBy === undefined)
      return model.between(n, 0, model.commit).some(({ shown }) => shown?.isJustInTime);
    return !model.facts.some(({ type, order }) => type === 'placement' && order === n);
  }

  /** Returns the notifications of an owner, each as a text. */
  function listExpected(signer: number): string[] {
    return [...model.placed.keys()]
      .filter((n) => pool.orders[n]?.signer === signer)
      .flatMap(listOfOrder)
      .sort();
  }

  function listOfOrder(n: number): string[] {
    const order = pool.orders[n];
    const placed = model.placed.get(n);
    if (order === undefined || placed === undefined) return [];
    const expected: string[] = [];
    let [sold, bought] = [0n, 0n];
    let isInvalidated = placed.isCancelled;
    let presignatures = 0;
    if (isInvalidated) expected.push(`order_cancelled ${n} `);
    for (const fact of model.facts) {
      if (fact.order !== n) continue;
      const wasFull = order.kind === 'sell' ? sold >= order.sellAmount : bought >= order.buyAmount;
      if (fact.type === 'signature') presignatures += fact.signed ? 1 : 0;
      else if (fact.type === 'invalidation') {
        const isSilent = order.scheme === 'presign' && presignatures === 0;
        if (!isInvalidated && !wasFull && !isSilent) expected.push(`order_cancelled ${n} ${fact.transactionHash}`);
        isInvalidated = true;
      } else if (fact.type === 'trade') {
        sold += fact.sold;
        bought += fact.bought;
        const isFull = order.kind === 'sell' ? sold >= order.sellAmount : bought >= order.buyAmount;
        const type = isFull && !wasFull ? 'order_filled' : 'order_partially_filled';
        expected.push(`${type} ${n} ${fact.transactionHash} ${fact.sold}`);
      }
    }
    if (model.standing(n).isExpiryLogged) expected.push(`order_expired ${n} `);
    return expected;
  }

  /**
   * Returns the cancellations by invalidations that may have been found late. A later presignature may have opened the
   * order before that, so that its owner is notified although the order was never open in chain order. The same applies
   * to an order that is stored again after it was deleted: it counts as opened if a presignature opened it before.
   */
  function listLateCancellations(): Set<string> {
    const late = model.facts.filter(
      ({ type, order, transactionHash }) =>
        type === 'invalidation' && (archive.has(order) || isHidden(transactionHash)),
    );
    // A rollback has deleted the order of a settlement, but not the notification of its cancellation.
    const deleted = pool.orders
      .filter(({ index }) => model.hadTombstone(index, 0))
      .map(({ index }) => `order_cancelled ${index} `);
    return new Set([...late.map(describeCancellation), ...deleted]);
  }

  const listCancellations = (n: number) =>
    model.facts.filter(({ type, order }) => type === 'invalidation' && order === n).map(describeCancellation);

  /**
   * Returns the cancellations of orders whose presignature may have been found late. If the invalidation was read
   * first, the order was never open, and its owner is not notified.
   */
  function listUnopenedCancellations(): Set<string> {
    const unopened = new Set<number>();
    for (const fact of model.facts)
      if (fact.type === 'signature' && isHidden(fact.transactionHash)) unopened.add(fact.order);
    const invalidations = model.facts.filter(({ type, order }) => type === 'invalidation' && unopened.has(order));
    return new Set(invalidations.map(describeCancellation));
  }

  function describe(body: string): string {
    const { type, metadata } = JSON.parse(body) as { type: string; metadata: Record<string, string> };
    const { orderUid = '', txHash = '', executedSellAmount } = metadata;
    // Other types have the executed total at the time of the message: `isPastTotal`.
    const sold = /filled$/.test(type) ? ` ${executedSellAmount}` : '';
    return `${type} ${pool.byUid.get(orderUid)?.index} ${txHash}${sold}`;
  }

  /** Returns whether the notification of an ended order shows amounts that the order has had. Others do not matter. */
  function isPastTotal(body: string): boolean {
    const { type, metadata } = JSON.parse(body) as { type: string; metadata: Record<string, string> };
    const n = pool.byUid.get(metadata['orderUid'] ?? '')?.index;
    if (n === undefined || !/^order_(cancelled|expired)$/.test(type)) return true;
    const { executedSellAmount = '0', executedBuyAmount = '0' } = metadata;
    return model
      .between(n, 0, model.commit)
      .some(({ shown }) => shown?.sold === executedSellAmount && shown.bought === executedBuyAmount);
  }

  /** The last entry of the book's log that is processed. */
  let cursor: number | null = null;
  /** The notifications that are visible. */
  const shown = new Set<string>();
  /** The newest text of each notification. */
  const texts = new Map<string, string>();
  /** The texts of claimed deliveries. A reorganisation during an attempt does not change its text. */
  const claimed = new Set<string>();

  return {
    get processed() {
      return cursor ?? 0;
    },
    onRemove(orders) {
      for (const n of orders) {
        const earlier = archive.get(n)?.texts;
        const texts = [...listOfOrder(n), ...(earlier === undefined ? [] : [...earlier, ...listCancellations(n)])];
        const isComplete = (cursor ?? 0) >= lastEntry() && !archive.has(n);
        archive.set(n, { texts, uncertain: listUnopenedCancellations(), isComplete });
      }
    },
    onAppend({ feed, after, through, changes }, { status }) {
      if (status !== 'appended') return;
      for (const change of changes) {
        if (change.type === 'withdraw') shown.delete(change.id);
        else if (!shown.has(change.notification.id)) {
          shown.add(change.notification.id);
          texts.set(change.notification.id, change.notification.body);
        }
      }
      if (!feed.startsWith('log ')) return;
      if (after !== cursor) report('notifications', `entries from ${after} to ${through} follow ${cursor}`);
      cursor = through;
    },
    onClaim(deliveries) {
      for (const { notification, body } of deliveries) {
        claimed.add(body);
        if (texts.get(notification) !== body)
          report('deliveries', `the text of a claimed delivery is not the newest of its notification: ${body}`);
      }
    },
    onArrival(body) {
      if (!claimed.has(body))
        report('deliveries', `a notification that was not claimed was delivered: ${describe(body)}`);
    },
    async compare(notify) {
      const visible = new Set<string>();
      for (const { type, notification } of await store.notifications.after(0, 10_000)) {
        const isKnown = visible.has(notification);
        if (isKnown !== (type === 'withdrawn')) notify('notifications', `${type} twice: ${notification}`);
        if (isKnown) visible.delete(notification);
        else visible.add(notification);
      }
      const late = listLateCancellations();
      const unopened = listUnopenedCancellations();
      for (const [signer, account] of pool.owners.entries()) {
        const rows = await store.notifications.list({ account, limit: 10_000 });
        const { required, optional } = listArchived(signer);
        const found = rows.map(({ body }) => describe(body)).filter(isOfLog);
        const expected = [...listExpected(signer), ...required]
          .filter((each) => found.includes(each) || !unopened.has(each))
          .sort();
        const actual = found
          .filter((each) => expected.includes(each) || !(late.has(each) || optional.has(each)))
          .sort();
        const extra = actual.find((each, i) => each !== expected[i]);
        if (actual.join() !== expected.join()) {
          const missing = expected.filter((each) => !actual.includes(each));
          const surplus = actual.filter((each) => !expected.includes(each));
          notify('notifications', `owner ${signer}: missing [${missing}], unexpected [${surplus}], first ${extra}`);
        }
        for (const { id, body } of rows) {
          if (!isPastTotal(body)) notify('notifications', `${body} shows amounts that the order never had`);
          if (!visible.delete(id)) notify('notifications', `${describe(body)} is listed, but not in the log`);
        }
      }
      for (const id of visible) notify('notifications', `${id} is in the log, but not listed`);
    },
  };
}

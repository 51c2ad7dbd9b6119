import type {
  AccountStore,
  Address,
  AppendOutcome,
  ClaimedDelivery,
  NotificationBatch,
  Subscription,
} from 'intentbook';
import type { Scheduler } from '../machine/scheduler.ts';
import type { Pool } from '../orders/pool.ts';
import type { Receiver } from '../ports/channel.ts';
import { createReceiver } from '../ports/channel.ts';
import type { Balances } from '../ports/funds-port.ts';
import { createAttemptCheck } from './attempt-check.ts';
import { createFairnessCheck } from './fairness-check.ts';
import type { Model } from './model.ts';
import type { NotificationCheck } from './notification-check.ts';
import { createNotificationCheck } from './notification-check.ts';
import { createShortfallCheck } from './shortfall-check.ts';
import type { Report } from './store-observer.ts';
import type { SubscriptionCheck } from './subscription-check.ts';
import { createSubscriptionCheck, getFurtherTarget, getTarget, TYPES } from './subscription-check.ts';

/** The receiver of notifications, and the checks of everything from the account log to their targets. */
export interface DeliveryChecks {
  readonly receiver: Receiver;
  readonly notifications: NotificationCheck;
  readonly subscriptions: SubscriptionCheck;
  /** Whether a delivery is dead. */
  readonly hasDead: boolean;
  /** Follows a call of the account store. */
  onCall(name: string, args: readonly unknown[], result: unknown): void;
  /** Called when a fault begins or ends. @param owner - The owner whose target it affects. Absent: it affects all. */
  onDisturbance(owner?: number): void;
  /** Reports the deliveries that are late. */
  check(): void;
  /**
   * Compares everything with the model.
   *
   * @param isDelivered - Whether every delivery must have arrived.
   */
  compare(notify: Report, isDelivered: boolean): Promise<void>;
}

export interface DeliveryChecksContext {
  readonly store: AccountStore;
  readonly model: Model;
  readonly balances: Balances;
  readonly pool: Pool;
  readonly report: Report;
  readonly scheduler: Scheduler;
  readonly onFault: (name: string) => void;
  /** Number of processes that deliver. */
  readonly processes: number;
  /** Maximum number of attempts of a delivery. */
  readonly attempts: number;
  /** Milliseconds between two checks of whether orders are funded. */
  readonly fundingInterval: number | 'off';
  /** Returns the latest time that a clock has shown, in milliseconds since 1970. */
  readonly latestTime: () => number;
  /** Returns whether all processes run without a fault. */
  readonly isQuiet: () => boolean;
  /** Whether a node has hidden the logs of a transaction. */
  readonly isHidden: (transactionHash: string) => boolean;
  /** Returns the id of the newest log entry. */
  readonly lastEntry: () => number;
}

export function createDeliveryChecks(context: DeliveryChecksContext): DeliveryChecks {
  const { store, pool, report, scheduler, onFault } = context;
  const notifications = createNotificationCheck(store, context);
  const subscriptions = createSubscriptionCheck({ store, pool, report });
  const { fundingInterval: interval } = context;
  const shortfalls = interval === 'off' ? undefined : createShortfallCheck({ ...context, interval });
  const findOwner = (account: string) => pool.owners.indexOf(account as Address);

  /** Whether the target of an account works, and no other delivery of the account can delay it. */
  function isWorking(account: string): boolean {
    const owner = findOwner(account);
    const isFaulty = [getTarget(owner), getFurtherTarget(owner)].some((target) => receiver.targetFaults.has(target));
    return !isFaulty && !subscriptions.hasFurther(account);
  }

  const fairness = createFairnessCheck({
    report,
    time: () => scheduler.time,
    isQuiet: context.isQuiet,
    isWorking,
    types: TYPES,
    clockDifference: context.processes === 1 ? 0 : 3_000,
  });

  /** Calls `task` with the account of a subscription whose deliveries are checked for fairness. */
  function ifFair(subscription: string, task: (account: string) => void): void {
    const account = subscriptions.getAccount(subscription);
    if (account !== undefined && subscriptions.isPermanent(subscription)) task(account);
  }

  const attempts = createAttemptCheck({
    deliveries: store.deliveries,
    limit: context.attempts,
    report,
    isVisible: subscriptions.isVisible,
    onDead: (subscription, id) => ifFair(subscription, () => fairness.onDead(id)),
    onReplayed: (subscription, id) => ifFair(subscription, (account) => fairness.onReplayed(id, account)),
  });

  function onArrival(body: string, { id, account, target }: Subscription): void {
    notifications.onArrival(body);
    subscriptions.onArrival(id, (JSON.parse(body) as { readonly id: string }).id); // a notification
    if (target === getTarget(findOwner(account))) fairness.onArrival(body);
  }

  const receiver = createReceiver({ scheduler, onArrival, onGone: ({ id }) => subscriptions.onGone(id), onFault });

  return {
    receiver,
    notifications,
    subscriptions,
    get hasDead() {
      return attempts.hasDead;
    },
    onCall(name, args, result) {
      const before = subscriptions.changes;
      subscriptions.onCall(name, args, result);
      attempts.onCall(name, args, result);
      // Deliveries in progress of a subscription that was removed may delay others of the account.
      if (subscriptions.changes !== before) for (const account of pool.owners) fairness.disturbTarget(account);
      // The arguments and results are those of the port.
      if (name === 'deliveries.claim')
        notifications.onClaim((result as { claimed: readonly ClaimedDelivery[] }).claimed);
      if (name !== 'notifications.append') return;
      const [batch, outcome] = [args[0] as NotificationBatch, result as AppendOutcome];
      fairness.onAppend(batch, outcome);
      notifications.onAppend(batch, outcome);
      shortfalls?.onAppend(batch, outcome);
    },
    onDisturbance(owner) {
      if (owner === undefined) fairness.disturb();
      else fairness.disturbTarget(pool.owners[owner] ?? '');
    },
    check: fairness.check,
    async compare(notify, isDelivered) {
      await notifications.compare(notify);
      await shortfalls?.compare(notify);
      if (!isDelivered) return;
      subscriptions.requireAll(notify);
      await attempts.requireNone(notify);
      const [pending] = await store.deliveries.list({ state: 'pending', limit: 1 });
      if (pending !== undefined)
        notify('liveness', `${pending.notification} is still to be delivered to ${pending.subscription}`);
    },
  };
}

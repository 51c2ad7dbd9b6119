import type {
  AccountStore,
  Address,
  AppendOutcome,
  ClaimedDelivery,
  NewSubscription,
  NotificationBatch,
  SubscribeOutcome,
  Subscription,
  SubscriptionStore,
} from 'intentbook';
import { DELIVERY_WINDOW } from 'intentbook/store-kit';
import type { Pool } from '../orders/pool.ts';
import type { Report } from './store-observer.ts';

/** The types of notifications that the webhooks of all owners subscribe to. */
export const TYPES = [
  'order_filled',
  'order_expired',
  'order_cancelled',
  'order_partially_filled',
  'insufficient_balance',
] as const;

/** Returns the target of an owner. */
export const getTarget = (owner: number) => `target ${owner}`;
/** Returns the target of the further subscriptions of an owner. */
export const getFurtherTarget = (owner: number) => `further ${owner}`;

type Removal = Parameters<SubscriptionStore['remove']>[0];
type RemovalOutcome = 'removed' | 'missing' | 'used';

/** Checks subscriptions, and which of them receive a notification. */
export interface SubscriptionCheck {
  /** Subscribes a webhook for each owner. It is never removed. */
  subscribeAll(now: number): Promise<void>;
  /** Number of changes so far. */
  readonly changes: number;
  /** Whether an account has further subscriptions. */
  hasFurther(account: string): boolean;
  /** Returns the further subscriptions of an account that exist. */
  listFurther(account: string): readonly Subscription[];
  /** Whether a subscription has existed. */
  has(id: string): boolean;
  /** Whether a subscription is one that is never removed. */
  isPermanent(id: string): boolean;
  /** The account of a subscription that exists or has existed. */
  getAccount(id: string): string | undefined;
  /** Whether a notification exists and was not withdrawn. */
  isVisible(notification: string): boolean;
  /** Whether a nonce has authorised a change. */
  isUsed(account: string, nonce: string): boolean;
  /** Follows a call of the account store. */
  onCall(name: string, args: readonly unknown[], result: unknown): void;
  /** Called when a target responds that it does not exist any more. */
  onGone(subscription: string): void;
  /** Checks that a delivery is one of its subscription. */
  onArrival(subscription: string, notification: string): void;
  /** Checks that a list of an account had these subscriptions at some time since a change. */
  checkList(account: string, ids: readonly string[], since: number): void;
  /** Checks that every delivery to an existing subscription has arrived. */
  requireAll(notify: Report): void;
}

interface Entry {
  /** With the types of the newest request. */
  subscription: Subscription;
  /** The changes by which it was created and removed. */
  readonly from: number;
  to: number;
  /** The notifications that were added while it existed. */
  readonly due: Set<string>;
  /** Those that were made long before it, while the clock was behind: they may be left out. */
  readonly old: Set<string>;
  readonly arrived: Set<string>;
  isGone: boolean;
}

export interface SubscriptionCheckContext {
  readonly store: AccountStore;
  readonly pool: Pool;
  readonly report: Report;
}

export function createSubscriptionCheck({ store, pool, report }: SubscriptionCheckContext): SubscriptionCheck {
  const entries = new Map<string, Entry>();
  const nonces = new Set<string>();
  const visible = new Set<string>();
  const permanent = new Set<string>();
  let changes = 0;

  const exists = ({ to }: Entry) => to === Number.POSITIVE_INFINITY;
  const ofAccount = (account: string) => [...entries.values()].filter((each) => each.subscription.account === account);
  const listFurther = (account: string) =>
    ofAccount(account).flatMap((each) =>
      exists(each) && !permanent.has(each.subscription.id) ? [each.subscription] : [],
    );

  function use(account: Address, nonce: string): void {
    const key = `${account} ${nonce}`;
    if (nonces.has(key)) report('subscriptions', `the nonce ${nonce} of ${account} authorised two changes`);
    nonces.add(key);
  }

  function onCreate({ subscription, nonce }: NewSubscription, outcome: SubscribeOutcome): void {
    if (outcome.status !== 'created' && outcome.status !== 'updated') return;
    use(subscription.account, nonce.nonce);
    if (outcome.status === 'updated') {
      const { types } = outcome.subscription;
      const entry = entries.get(outcome.subscription.id);
      if (entry !== undefined) entry.subscription = { ...entry.subscription, types };
      return;
    }
    const from = ++changes;
    const to = Number.POSITIVE_INFINITY;
    entries.set(subscription.id, {
      subscription,
      from,
      to,
      due: new Set(),
      old: new Set(),
      arrived: new Set(),
      isGone: false,
    });
  }

  function onRemove({ id, account, nonce }: Removal, outcome: RemovalOutcome): void {
    if (outcome !== 'used' && nonce !== undefined) use(account, nonce.nonce);
    if (outcome !== 'removed') return;
    const entry = entries.get(id);
    if (entry === undefined || !exists(entry)) {
      report('subscriptions', `${id} was removed twice`);
      return;
    }
    if (nonce === undefined && !entry.isGone) report('subscriptions', `${id} was removed without a request`);
    entry.to = ++changes;
  }

  function onAppend({ changes: added }: NotificationBatch, { status }: AppendOutcome): void {
    if (status !== 'appended') return;
    for (const change of added) {
      if (change.type === 'withdraw') {
        visible.delete(change.id);
        continue;
      }
      const { id, account, type, at } = change.notification;
      if (visible.has(id)) continue;
      visible.add(id);
      for (const each of ofAccount(account)) {
        if (!exists(each) || !each.subscription.types.includes(type)) continue;
        each.due.add(id);
        if (each.subscription.createdAt > at + DELIVERY_WINDOW) each.old.add(id);
      }
    }
  }

  function onClaim(claimed: readonly ClaimedDelivery[]): void {
    for (const { subscription, notification } of claimed) {
      const entry = entries.get(subscription.id);
      if (entry === undefined || !exists(entry)) report('deliveries', `${subscription.id} was removed, but is claimed`);
      if (entry?.due.has(notification) === false)
        report('deliveries', `${subscription.id} does not receive the notification ${notification}, but is claimed`);
    }
  }

  return {
    async subscribeAll(now) {
      for (const [i, account] of pool.owners.entries()) {
        const target = getTarget(i);
        const id = `subscription ${i}`;
        permanent.add(id);
        const subscription = { id, account, channel: 'webhook', target, types: TYPES, secret: null, createdAt: now };
        const request: NewSubscription = {
          subscription: { ...subscription, state: 'active' },
          nonce: { account, nonce: 'first', expiresAt: now },
          quota: 1,
          now,
        };
        onCreate(request, await store.subscriptions.create(request));
      }
    },
    get changes() {
      return changes;
    },
    hasFurther: (account) => listFurther(account).length > 0,
    listFurther,
    has: (id) => entries.has(id),
    isPermanent: (id) => permanent.has(id),
    getAccount: (id) => entries.get(id)?.subscription.account,
    isVisible: (notification) => visible.has(notification),
    isUsed: (account, nonce) => nonces.has(`${account} ${nonce}`),
    onCall(name, [first], result) {
      // The arguments and results are those of the port.
      if (name === 'subscriptions.create') onCreate(first as NewSubscription, result as SubscribeOutcome);
      else if (name === 'subscriptions.remove') onRemove(first as Removal, result as RemovalOutcome);
      else if (name === 'notifications.append') onAppend(first as NotificationBatch, result as AppendOutcome);
      else if (name === 'deliveries.claim') onClaim((result as { claimed: readonly ClaimedDelivery[] }).claimed);
    },
    onGone(id) {
      const entry = entries.get(id);
      if (entry !== undefined) entry.isGone = true;
    },
    onArrival(id, notification) {
      const entry = entries.get(id);
      if (entry?.due.has(notification) !== true)
        report('deliveries', `${id} received the notification ${notification} of another time or type`);
      entry?.arrived.add(notification);
    },
    checkList(account, ids, since) {
      const all = ofAccount(account).map(({ subscription, from, to }) => ({ id: subscription.id, from, to }));
      const isPossible = (at: number) =>
        all
          .filter(({ from, to }) => from <= at && at < to)
          .map(({ id }) => id)
          .join() === ids.join();
      for (let at = since; at <= changes; at++) if (isPossible(at)) return;
      report('subscriptions', `the list of ${account} is that of no time of the read: ${ids}`);
    },
    requireAll(notify) {
      for (const entry of entries.values()) {
        if (!exists(entry)) continue;
        const missing = [...entry.due].find((id) => visible.has(id) && !entry.old.has(id) && !entry.arrived.has(id));
        if (missing !== undefined) notify('liveness', `${missing} was not delivered to ${entry.subscription.id}`);
      }
    },
  };
}

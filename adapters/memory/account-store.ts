import type {
  AccountLogEntry,
  AccountStore,
  Address,
  Affiliate,
  AppendOutcome,
  ForgottenAccount,
  Hex,
  LogPruneRequest,
  NewAffiliate,
  NewNotification,
  NewSubscription,
  NotificationBatch,
  NotificationChange,
  NotificationCursor,
  RegisterOutcome,
  SubscribeOutcome,
  Subscription,
  UsedNonce,
} from 'intentbook';
import { createAccountStore, createInMemoryLeases, DELIVERY_WINDOW, FORGOTTEN, type StoreOperations } from '#internal';
import { createMemoryDeliveries } from './deliveries.ts';
import { forgetAffiliate, forgetNotifications } from './forget.ts';
import { getOrCreate } from './get-or-create.ts';
import { createMemoryInvitations } from './invitations.ts';
import { SortedList } from './sorted-list.ts';

/** A notification with its visibility. */
interface Row extends NewNotification {
  readonly seq: number;
  visible: boolean;
}

type Entry = Omit<AccountLogEntry, 'body'>;

interface Pending {
  readonly tokenHash: Hex;
  readonly expiresAt: number;
}

/**
 * Creates an account store in memory, without persistence: for tests and experiments, and as the reference to which
 * other stores are compared.
 */
export function memoryAccountStore(): AccountStore {
  const cursors = new Map<string, number>();
  const marks = new Map<string, Map<string, string>>();
  const rows = new Map<string, Row>();
  const lists = new Map<string, SortedList<Row>>();
  const log: Entry[] = [];
  const last = () => log.at(-1)?.id ?? 0;
  const logs = new Map<string, Entry[]>();
  const wallets = new Map<string, Affiliate>();
  const codes = new Map<string, Affiliate>();
  const usedSignatures = new Set<string>();
  const nonces = new Map<string, UsedNonce>();
  const subscriptions = new Map<string, Subscription>();
  const confirmations = new Map<string, Pending>();
  /** Active subscriptions by the hash of the token that has confirmed them. */
  const confirmedBy = new Map<string, string>();
  const invitations = createMemoryInvitations(subscriptions);
  const deliveries = createMemoryDeliveries({
    subscription: (id) => subscriptions.get(id),
    update: (subscription) => void subscriptions.set(subscription.id, subscription),
    countSuspended: () => [...subscriptions.values()].filter(({ state }) => state === 'suspended').length,
    body: (id) => rows.get(id)?.body ?? '{}',
    isVisible: (id) => rows.get(id)?.visible === true,
    now: () => now(),
  });
  let now = () => 0;

  function record(type: AccountLogEntry['type'], { account, id }: NewNotification): void {
    const entry = { id: last() + 1, account, type, notification: id };
    log.push(entry);
    getOrCreate(logs, account, () => []).push(entry);
  }

  function apply(change: NotificationChange, addedAt: number): boolean {
    if (change.type === 'withdraw') {
      const row = rows.get(change.id);
      if (row === undefined || !row.visible) return false;
      row.visible = false;
      lists.get(row.account)?.remove(row);
      record('withdrawn', row);
      deliveries.drop(row.id);
      return true;
    }
    const { id, account, type, at, body } = change.notification;
    const existing = rows.get(id);
    if (existing?.visible === true) return false;
    // Shown again, it has the time and the text of its new cause.
    const row: Row = { account, type, seq: last() + 1, ...existing, id, at, body, visible: true };
    const causedAt = existing?.at ?? at;
    rows.set(id, row);
    getOrCreate(lists, row.account, () => new SortedList<Row>(newestFirst)).add(row);
    record('notification', row);
    for (const subscription of subscriptions.values()) {
      const isSubscribed = subscription.account === row.account && subscription.types.includes(row.type);
      // A clock that was ahead may have been corrected since.
      const isRecent = Math.min(subscription.createdAt, addedAt) <= causedAt + DELIVERY_WINDOW;
      if (isSubscribed && isRecent && subscription.state === 'active')
        deliveries.add(subscription, id, Math.min(causedAt, addedAt));
    }
    return true;
  }

  function append({ feed, after, through, changes, marks: given = [] }: NotificationBatch): AppendOutcome {
    const cursor = cursors.get(feed) ?? null;
    if (cursor !== after) return { status: 'moved', cursor };
    let changed = 0;
    const addedAt = now();
    for (const change of changes) if (apply(change, addedAt)) changed++;
    const stored = getOrCreate(marks, feed, () => new Map<string, string>());
    for (const { key, value } of given) {
      if (value === null) stored.delete(key);
      else stored.set(key, value);
    }
    cursors.set(feed, through);
    return { status: 'appended', changed };
  }

  function pruneNotifications({ before, through, limit }: LogPruneRequest): number {
    const end = Math.min(limit, log.length - 1);
    const isKept = ({ id, notification }: Entry) => id > through || (rows.get(notification)?.at ?? 0) >= before;
    const kept = log.slice(0, end).findIndex(isKept);
    const due = log.splice(0, kept < 0 ? Math.max(0, end) : kept);
    for (const entry of due) logs.get(entry.account)?.shift();
    const logged = new Set(log.map(({ notification }) => notification));
    for (const { notification } of due) if (!logged.has(notification)) removeNotification(notification);
    return due.length;
  }

  function removeNotification(id: string): void {
    const row = rows.get(id);
    if (row === undefined) return;
    lists.get(row.account)?.remove(row);
    rows.delete(id);
    deliveries.removeNotification(id);
  }

  function register({ walletAddress, code, createdAt, digest, signedMessage }: NewAffiliate): RegisterOutcome {
    if (wallets.has(walletAddress)) return { status: 'bound' };
    if (usedSignatures.has(digest) || usedSignatures.has(signedMessage)) return { status: 'used' };
    if (codes.has(code)) return { status: 'taken' };
    const affiliate = { walletAddress, code, createdAt };
    wallets.set(walletAddress, affiliate);
    codes.set(code, affiliate);
    usedSignatures.add(digest).add(signedMessage);
    return { status: 'registered' };
  }

  const toKey = ({ account, nonce }: UsedNonce) => `${account} ${nonce}`;

  function create(request: NewSubscription): SubscribeOutcome {
    const { subscription, confirmation, nonce, quota, invitation, now: at } = request;
    for (const [id, { expiresAt }] of confirmations) if (expiresAt < at) removeSubscription(id);
    if (nonces.has(toKey(nonce))) return { status: 'used' };
    const same = findSame(subscription);
    if (same?.state === 'active') {
      nonces.set(toKey(nonce), nonce);
      const updated = { ...same, types: subscription.types };
      subscriptions.set(same.id, updated);
      return { status: 'updated', subscription: updated };
    }
    const others = listByAccount(subscription.account).length - (same === undefined ? 0 : 1);
    if (others >= quota) return { status: 'quotaExceeded', quota };
    const by = invitation === undefined ? undefined : invitations.check(subscription, invitation);
    if (by !== undefined) return { status: 'limited', by };
    nonces.set(toKey(nonce), nonce);
    if (same !== undefined) removeSubscription(same.id);
    if (invitation !== undefined) invitations.add(subscription, invitation, at);
    subscriptions.set(subscription.id, subscription);
    if (confirmation !== undefined) confirmations.set(subscription.id, confirmation);
    return { status: 'created' };
  }

  /** Returns the active or suspended subscription of the same account, channel and target. */
  function findSame({ id, account, channel, target }: Subscription): Subscription | undefined {
    if (target === '') return undefined;
    return listByAccount(account).find(
      (each) => each.id !== id && each.state !== 'pending' && each.channel === channel && each.target === target,
    );
  }

  function confirm({ tokenHash, now: at, target }: Parameters<AccountStore['subscriptions']['confirm']>[0]) {
    const [id, pending] = [...confirmations].find(([, each]) => each.tokenHash === tokenHash) ?? [];
    const subscription = id === undefined ? undefined : subscriptions.get(id);
    const again = subscriptions.get(confirmedBy.get(tokenHash) ?? '');
    if (again?.state === 'active') return again;
    if (id === undefined || subscription === undefined || pending === undefined || pending.expiresAt < at)
      return undefined;
    const confirmed: Subscription = { ...subscription, state: 'active', target: target ?? subscription.target };
    if (confirmed.target === '') return undefined;
    const same = findSame(confirmed);
    removeSubscription(same?.state === 'active' ? id : (same?.id ?? ''));
    const active = same?.state === 'active' ? { ...same, types: confirmed.types } : confirmed;
    subscriptions.set(active.id, active);
    confirmations.delete(id);
    if (active.id === id) confirmedBy.set(tokenHash, id);
    return active;
  }

  function removeSubscription(id: string): void {
    subscriptions.delete(id);
    confirmations.delete(id);
    deliveries.remove(id);
  }

  const listByAccount = (account: string) => [...subscriptions.values()].filter((each) => each.account === account);

  function forget(account: Address): ForgottenAccount {
    const own = listByAccount(account);
    for (const { id } of own) removeSubscription(id);
    invitations.forget(account);
    const forgotten = forgetNotifications(account, log, logs);
    for (const id of forgotten) removeNotification(id);
    if (forgotten.size > 0) rows.set(FORGOTTEN.id, { ...FORGOTTEN, seq: 0, visible: false });
    const affiliate = forgetAffiliate(account, wallets, codes, marks);
    return { subscriptions: own.length, notifications: forgotten.size, affiliate };
  }

  const operations: StoreOperations<AccountStore> = {
    check: async () => {},
    close: () => {},
    forget,
    notifications: {
      cursor: (feed) => cursors.get(feed) ?? null,
      append,
      list({ account, after, limit }) {
        const list = lists.get(account);
        if (list === undefined) return [];
        const start = after === undefined ? 0 : list.firstWhere((row) => newestFirst(row, after) > 0);
        const page = [];
        for (const { id, seq, at, body } of list.from(start)) {
          if (page.length === limit) break;
          page.push({ id, seq, at, body });
        }
        return page;
      },
      marks(feed, keys) {
        const stored = marks.get(feed);
        return [...new Set(keys)].flatMap((key) => {
          const value = stored?.get(key);
          return value === undefined ? [] : [{ key, value }];
        });
      },
      last,
      after(id, limit, account) {
        const from = Math.max(0, id - last() + log.length);
        const withBody = (entry: Entry) => ({ ...entry, body: rows.get(entry.notification)?.body ?? '{}' });
        if (account === undefined) return log.slice(from, from + limit).map(withBody);
        const own = logs.get(account) ?? [];
        let start = own.length;
        while (start > 0 && (own[start - 1]?.id ?? 0) > id) start--;
        return own.slice(start, start + limit).map(withBody);
      },
      watch: () => () => {},
    },
    affiliates: { register, byWallet: (wallet) => wallets.get(wallet), byCode: (code) => codes.get(code) },
    subscriptions: {
      create,
      confirm,
      list: listByAccount,
      remove({ id, account, nonce, isUnsent }) {
        if (nonce !== undefined && nonces.has(toKey(nonce))) return 'used';
        if (nonce !== undefined) nonces.set(toKey(nonce), nonce);
        const subscription = subscriptions.get(id);
        if (subscription?.account !== account) return 'missing';
        if (isUnsent === true) invitations.withdraw(subscription);
        removeSubscription(id);
        return 'removed';
      },
    },
    deliveries,
    leases: createInMemoryLeases(() => now()),
    retention: {
      prunedThrough: () => last() - log.length,
      pruneNotifications,
      pruneNonces(at, limit) {
        const due = [...nonces].filter(([, { expiresAt }]) => expiresAt < at).slice(0, limit);
        for (const [key] of due) nonces.delete(key);
        return due.length;
      },
    },
  };

  return createAccountStore(
    { name: 'memory', durable: false, writers: 'single' },
    {
      name: 'memory account store',
      inUse: 'this memory account store is already in use',
      async start({ clock }) {
        now = () => clock.now();
        return operations;
      },
    },
  );
}

function newestFirst(a: NotificationCursor, b: NotificationCursor): number {
  return b.at - a.at || b.seq - a.seq;
}

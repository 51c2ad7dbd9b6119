import type { ClaimedDelivery, Delivery, DeliveryCounts, DeliveryState, DeliveryStore, Subscription } from 'intentbook';

interface Row {
  readonly seq: number;
  readonly subscription: string;
  readonly notification: string;
  readonly account: Subscription['account'];
  readonly channel: string;
  state: DeliveryState;
  attempts: number;
  claims: number;
  /** Earliest time of the next claim. */
  due: number;
  error: string | null;
}

/** Data of the store that deliveries need. */
interface DeliveriesContext {
  subscription(id: string): Subscription | undefined;
  body(notification: string): string;
  isVisible(notification: string): boolean;
}

type Argument<Method extends keyof DeliveryStore> = Parameters<DeliveryStore[Method]>[0];

/** Creates the deliveries. All methods are synchronous, so each is one atomic step. */
export function createMemoryDeliveries(context: DeliveriesContext) {
  const rows: Row[] = [];
  let last = 0;

  const find = (subscription: string, notification: string) =>
    rows.find((row) => row.subscription === subscription && row.notification === notification);

  /** Returns the first pending delivery of each active subscription. */
  function heads(): Row[] {
    const first = new Map<string, Row>();
    for (const row of rows) {
      if (row.state !== 'pending' || first.has(row.subscription)) continue;
      if (context.subscription(row.subscription)?.state === 'active') first.set(row.subscription, row);
    }
    return [...first.values()].sort((a, b) => a.due - b.due || a.seq - b.seq);
  }

  return {
    add({ id, account, channel }: Subscription, notification: string, due: number): void {
      const existing = find(id, notification);
      if (existing?.state === 'dropped') existing.state = 'pending';
      if (existing !== undefined) return;
      const base = { seq: ++last, subscription: id, notification, account, channel };
      rows.push({ ...base, state: 'pending', attempts: 0, claims: 0, due, error: null });
    },

    drop(notification: string): void {
      for (const row of rows) {
        if (row.notification === notification && row.state === 'pending') row.state = 'dropped';
      }
    },

    remove(subscription: string): void {
      const remaining = rows.filter((row) => row.subscription !== subscription);
      rows.splice(0, rows.length, ...remaining);
    },

    removeNotification(notification: string): void {
      const remaining = rows.filter((row) => row.notification !== notification);
      rows.splice(0, rows.length, ...remaining);
    },

    claim(request: Argument<'claim'>): Awaited<ReturnType<DeliveryStore['claim']>> {
      const { now, until, limit, perAccount = limit, busy = { accounts: [], channels: [] } } = request;
      const latest = now + (request.maxDelay ?? Number.POSITIVE_INFINITY);
      const isWaiting = ({ due }: Row) => due > now && due <= latest;
      const isFree = (row: Row) => !isWaiting(row) && isAllowed(row);
      const isAllowed = ({ account, channel }: Row) =>
        !busy.accounts.includes(account) && !busy.channels.includes(channel);
      const ofAccount = new Map<string, number>();
      const due = heads()
        .filter(isFree)
        .map((row) => {
          const ordinal = (ofAccount.get(row.account) ?? 0) + 1;
          ofAccount.set(row.account, ordinal);
          return { row, ordinal };
        })
        .filter(({ ordinal }) => ordinal <= perAccount)
        .sort((a, b) => a.ordinal - b.ordinal); // stable: the longest due stays first
      const claimed = due.slice(0, limit).map(({ row }): ClaimedDelivery => {
        row.attempts++;
        row.claims++;
        row.due = until;
        const subscription = context.subscription(row.subscription);
        if (subscription === undefined) throw new Error('a delivery exists without its subscription');
        const { seq, notification, attempts: attempt, claims: claim } = row;
        return { seq, subscription, notification, body: context.body(notification), attempt, claim };
      });
      return { claimed, next: heads().find(isWaiting)?.due ?? null };
    },

    recordResult({ seq, claim, outcome }: Argument<'recordResult'>): 'recorded' | 'lost' {
      const row = rows.find((each) => each.seq === seq && each.claims === claim);
      if (row === undefined || (row.state !== 'pending' && row.state !== 'dropped')) return 'lost';
      if (outcome.status === 'delivered') {
        row.state = 'delivered';
        row.error = null;
        return 'recorded';
      }
      if (row.state === 'dropped') return 'lost';
      if (outcome.status === 'released') {
        row.due = outcome.at;
        row.attempts--;
        return 'recorded';
      }
      row.error = outcome.error;
      if (outcome.status === 'dead') row.state = 'dead';
      else row.due = outcome.at;
      return 'recorded';
    },

    list({ state, after = 0, limit }: Argument<'list'>): Delivery[] {
      return rows
        .filter((row) => row.state === state && row.seq > after)
        .slice(0, limit)
        .map(({ due: _due, claims: _claims, ...row }) => row);
    },

    count(): DeliveryCounts {
      const inState = (state: DeliveryState) => rows.filter((row) => row.state === state).length;
      return { pending: inState('pending'), dead: inState('dead') };
    },

    replay({ seqs, now }: Argument<'replay'>): number {
      let replayed = 0;
      for (const row of rows) {
        if (row.state !== 'dead' || seqs?.includes(row.seq) === false) continue;
        if (context.isVisible(row.notification)) {
          Object.assign(row, { state: 'pending', attempts: 0, due: now, error: null });
          replayed++;
        } else row.state = 'dropped';
      }
      return replayed;
    },
  };
}

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
  /** Not to be claimed before. */
  due: number;
  error: string | null;
}

/** What deliveries need to know of the rest. */
interface DeliveriesContext {
  subscription(id: string): Subscription | undefined;
  body(notification: string): string;
  isVisible(notification: string): boolean;
}

type Argument<Verb extends keyof DeliveryStore> = Parameters<DeliveryStore[Verb]>[0];

/** What is on its way. Nothing here awaits, so every verb is one step. */
export function createMemoryDeliveries(around: DeliveriesContext) {
  const rows: Row[] = [];
  let last = 0;

  const find = (subscription: string, notification: string) =>
    rows.find((row) => row.subscription === subscription && row.notification === notification);

  /** Of each active subscription the first that is pending. */
  function heads(): Row[] {
    const found = new Map<string, Row>();
    for (const row of rows) {
      if (row.state !== 'pending' || found.has(row.subscription)) continue;
      if (around.subscription(row.subscription)?.state === 'active') found.set(row.subscription, row);
    }
    return [...found.values()].sort((a, b) => a.due - b.due || a.seq - b.seq);
  }

  return {
    add({ id, account, channel }: Subscription, notification: string, due: number): void {
      const known = find(id, notification);
      if (known?.state === 'dropped') known.state = 'pending';
      if (known !== undefined) return;
      const base = { seq: ++last, subscription: id, notification, account, channel };
      rows.push({ ...base, state: 'pending', attempts: 0, claims: 0, due, error: null });
    },

    drop(notification: string): void {
      for (const row of rows) {
        if (row.notification === notification && row.state === 'pending') row.state = 'dropped';
      }
    },

    remove(subscription: string): void {
      const kept = rows.filter((row) => row.subscription !== subscription);
      rows.splice(0, rows.length, ...kept);
    },

    claim({ now, until, limit }: Argument<'claim'>): Awaited<ReturnType<DeliveryStore['claim']>> {
      const due = heads().filter((row) => row.due <= now);
      const claimed = due.slice(0, limit).map((row): ClaimedDelivery => {
        row.attempts++;
        row.claims++;
        row.due = until;
        const subscription = around.subscription(row.subscription);
        if (subscription === undefined) throw new Error('a delivery outlives its subscription');
        const { seq, notification, attempts: attempt, claims: claim } = row;
        return { seq, subscription, notification, body: around.body(notification), attempt, claim };
      });
      return { claimed, next: heads()[0]?.due ?? null };
    },

    settle({ seq, claim, outcome }: Argument<'settle'>): 'settled' | 'lost' {
      const row = rows.find((each) => each.seq === seq && each.claims === claim);
      if (row === undefined || (row.state !== 'pending' && row.state !== 'dropped')) return 'lost';
      if (outcome.status === 'delivered') {
        row.state = 'delivered';
        row.error = null;
        return 'settled';
      }
      if (row.state === 'dropped') return 'lost';
      row.error = outcome.error;
      if (outcome.status === 'dead') row.state = 'dead';
      else row.due = outcome.at;
      return 'settled';
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
        if (around.isVisible(row.notification)) {
          Object.assign(row, { state: 'pending', attempts: 0, due: now, error: null });
          replayed++;
        } else row.state = 'dropped';
      }
      return replayed;
    },
  };
}

import type { ClaimedDelivery, Delivery, DeliveryCounts, DeliveryState, DeliveryStore, Subscription } from 'intentbook';
import { CLAIM_WINDOW, type DueDelivery, getLaneLimit, selectDeliveries } from '#internal';
import { getOrCreate } from './get-or-create.ts';
import { SortedList } from './sorted-list.ts';

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

interface Queue {
  readonly pending: SortedList<Row>;
  /** All deliveries, by notification. */
  readonly rows: Map<string, Row>;
  isReliable: boolean;
  /** The first pending delivery, as it is listed in its lane. */
  head?: DueDelivery & { readonly row: Row };
}

type Argument<Method extends keyof DeliveryStore> = Parameters<DeliveryStore[Method]>[0];
type Head = NonNullable<Queue['head']>;

/** Creates the deliveries. All methods are synchronous, so each is one atomic step. */
export function createMemoryDeliveries(context: {
  subscription(id: string): Subscription | undefined;
  update(subscription: Subscription): void;
  countSuspended(): number;
  body(notification: string): string;
  isVisible(notification: string): boolean;
  now(): number;
}) {
  const rows = new Map<number, Row>();
  const queues = new Map<string, Queue>();
  const byNotification = new Map<string, Set<Row>>();
  /** The first pending delivery of each subscription, by lane. */
  const lanes = new Map<string, SortedList<Head>>();
  let last = 0;

  function getQueue(subscription: string): Queue {
    const create = () => ({ pending: new SortedList<Row>(bySeq), rows: new Map(), isReliable: false });
    return getOrCreate(queues, subscription, create);
  }

  /** Changes a row, and lists the first pending row of its subscription again. */
  function change(row: Row, changes: Partial<Row>): void {
    const queue = getQueue(row.subscription);
    if (row.state === 'pending') queue.pending.remove(row);
    Object.assign(row, changes);
    if (row.state === 'pending') queue.pending.add(row);
    listHead(queue);
  }

  function listHead(queue: Queue): void {
    if (queue.head !== undefined) getLane(queue.head).remove(queue.head);
    delete queue.head;
    const [row] = queue.pending.slice(0, 1);
    if (row === undefined) return;
    const { seq, due, account, channel } = row;
    queue.head = { seq, due, account, channel, isReliable: queue.isReliable, row };
    getLane(queue.head).add(queue.head);
  }

  function getLane({ channel, isReliable }: Head): SortedList<Head> {
    const create = () => new SortedList<Head>((a, b) => a.due - b.due || a.seq - b.seq);
    return getOrCreate(lanes, `${channel} ${isReliable}`, create);
  }

  function remove(row: Row): void {
    change(row, { state: 'dropped' });
    rows.delete(row.seq);
    queues.get(row.subscription)?.rows.delete(row.notification);
    byNotification.get(row.notification)?.delete(row);
  }

  /** Records whether the last attempt of a subscription succeeded. */
  function recordHealth(id: string, isReliable: boolean): void {
    const queue = getQueue(id);
    queue.isReliable = isReliable;
    listHead(queue);
    const subscription = context.subscription(id);
    if (subscription === undefined) return;
    const { failingSince = context.now(), ...rest } = subscription;
    context.update(isReliable ? rest : { ...rest, failingSince });
  }

  function suspend(id: string, error: string): void {
    for (const row of getQueue(id).pending.slice(0, Number.POSITIVE_INFINITY)) change(row, { state: 'dead', error });
    const subscription = context.subscription(id);
    if (subscription !== undefined) context.update({ ...subscription, state: 'suspended' });
  }

  function resume(id: string): void {
    const subscription = context.subscription(id);
    if (subscription?.state !== 'suspended') return;
    const { failingSince: _, ...rest } = subscription;
    context.update({ ...rest, state: 'active' });
  }

  return {
    add({ id, account, channel }: Subscription, notification: string, due: number): void {
      const queue = getQueue(id);
      const existing = queue.rows.get(notification);
      if (existing?.state === 'dropped') change(existing, { state: 'pending' });
      if (existing !== undefined) return;
      const base = { seq: ++last, subscription: id, notification, account, channel };
      const row: Row = { ...base, state: 'dropped', attempts: 0, claims: 0, due, error: null };
      rows.set(row.seq, row);
      queue.rows.set(notification, row);
      getOrCreate(byNotification, notification, () => new Set<Row>()).add(row);
      change(row, { state: 'pending' });
    },

    drop(notification: string): void {
      for (const row of byNotification.get(notification) ?? [])
        if (row.state === 'pending') change(row, { state: 'dropped' });
    },

    remove(subscription: string): void {
      for (const row of [...(queues.get(subscription)?.rows.values() ?? [])]) remove(row);
      queues.delete(subscription);
    },

    removeNotification(notification: string): void {
      for (const row of [...(byNotification.get(notification) ?? [])]) remove(row);
      byNotification.delete(notification);
    },

    claim(request: Argument<'claim'>): Awaited<ReturnType<DeliveryStore['claim']>> {
      const { now, until, busyAccounts = [] } = request;
      const latest = now + (request.maxDelay ?? Number.POSITIVE_INFINITY);
      const candidates: Head[] = [];
      for (const lane of lanes.values()) {
        const [first] = lane.slice(0, 1);
        if (first === undefined || getLaneLimit(request, first) === 0) continue;
        const after = lane.firstWhere(({ due }) => due > latest);
        let found = 0;
        for (const head of listDue(lane, now, after)) {
          if (busyAccounts.includes(head.row.account)) continue;
          if (++found > CLAIM_WINDOW) break;
          candidates.push(head);
        }
      }
      const claimed = selectDeliveries(candidates, request).map(({ row, isReliable }): ClaimedDelivery => {
        change(row, { attempts: row.attempts + 1, claims: row.claims + 1, due: until });
        const subscription = context.subscription(row.subscription);
        if (subscription === undefined) throw new Error('a delivery exists without its subscription');
        const { seq, notification, attempts: attempt, claims: claim } = row;
        return { seq, subscription, notification, body: context.body(notification), attempt, claim, isReliable };
      });
      const waiting = [...lanes.values()].flatMap((lane) => {
        const start = lane.firstWhere(({ due }) => due > now);
        return lane.slice(start, start + 1);
      });
      const times = waiting.map(({ due }) => due).filter((due) => due <= latest);
      return { claimed, next: times.length === 0 ? null : Math.min(...times) };
    },

    recordResult({ seq, claim, outcome }: Argument<'recordResult'>): 'recorded' | 'lost' {
      const row = rows.get(seq);
      if (row === undefined || row.claims !== claim || (row.state !== 'pending' && row.state !== 'dropped'))
        return 'lost';
      if (outcome.status === 'delivered') {
        change(row, { state: 'delivered', error: null });
        recordHealth(row.subscription, true);
        return 'recorded';
      }
      if (row.state === 'dropped') return 'lost';
      if (outcome.status === 'released') {
        change(row, { due: outcome.at, attempts: row.attempts - 1 });
        return 'recorded';
      }
      const { error } = outcome;
      change(row, outcome.status === 'retry' ? { due: outcome.at, error } : { state: 'dead', error });
      recordHealth(row.subscription, false);
      if (outcome.status === 'suspended') suspend(row.subscription, error);
      return 'recorded';
    },

    list({ state, after = 0, limit }: Argument<'list'>): Delivery[] {
      const listed: Delivery[] = [];
      for (const row of rows.values()) {
        if (listed.length === limit) break;
        if (row.state !== state || row.seq <= after) continue;
        const { due: _due, claims: _claims, ...delivery } = row;
        listed.push(delivery);
      }
      return listed;
    },

    count(): DeliveryCounts {
      const inState = (state: DeliveryState) => [...rows.values()].filter((row) => row.state === state).length;
      return { pending: inState('pending'), dead: inState('dead'), suspended: context.countSuspended() };
    },

    replay({ seqs, now }: Argument<'replay'>): number {
      let replayed = 0;
      for (const row of rows.values()) {
        if (row.state !== 'dead' || seqs?.includes(row.seq) === false) continue;
        if (context.isVisible(row.notification)) {
          resume(row.subscription);
          change(row, { state: 'pending', attempts: 0, due: now, error: null });
          replayed++;
        } else change(row, { state: 'dropped' });
      }
      return replayed;
    },
  };
}

const bySeq = (a: Row, b: Row) => a.seq - b.seq;

/** Returns the heads of a lane that are due: up to `now`, and those from the index `after` on. */
function* listDue(lane: SortedList<Head>, now: number, after: number): Generator<Head> {
  for (const head of lane.from(0)) {
    if (head.due > now) break;
    yield head;
  }
  yield* lane.from(after);
}

import type { AccountStore, AppendOutcome, Hex, NotificationBatch, ProgressMarker } from 'intentbook';
import { START } from '../machine/process.ts';
import type { Scheduler } from '../machine/scheduler.ts';
import type { Pool } from '../orders/pool.ts';
import type { PoolOrder } from '../orders/pool-order.ts';
import type { Balances } from '../ports/funds-port.ts';
import type { Model, ShownOrder } from './model.ts';
import type { Report } from './store-observer.ts';

/** The type of the notifications that are checked. */
export const SHORTFALL = 'insufficient_balance';

/** Checks that each change of an open order to one without funds is reported once. */
export interface ShortfallCheck {
  /** Checks the notifications and markers of a batch. Batches of other feeds show the times of commits. */
  onAppend(batch: NotificationBatch, outcome: AppendOutcome): void;
  /** Checks that the marked orders are those open ones without funds. */
  compare(notify: Report): Promise<void>;
}

export interface ShortfallCheckContext {
  readonly store: AccountStore;
  readonly model: Model;
  readonly pool: Pool;
  readonly balances: Balances;
  readonly scheduler: Pick<Scheduler, 'time'>;
  readonly report: Report;
  /** Returns the latest time that a clock has shown, in milliseconds since 1970. */
  readonly latestTime: () => number;
  /** Milliseconds between two checks of a process. */
  readonly interval: number;
}

/** Atoms that an owner needs for an order: all orders are partially fillable. */
const NEEDED = 1n;

/** Maximum time from the first read of a check to its last write: slow calls of stores, and pauses. In milliseconds. */
const MAX_CHECK_TIME = 150_000;

/** Seconds before its expiry in which an open order may or may not be checked. Clocks differ. */
const EXPIRY_TOLERANCE = 62;

export function createShortfallCheck(context: ShortfallCheckContext): ShortfallCheck {
  const { store, model, pool, balances, scheduler, report, interval } = context;
  /** Orders whose shortfall is reported. */
  const marked = new Set<number>();
  /** The first virtual times at which commits were seen. */
  const commits: { readonly time: number; readonly commit: number }[] = [];
  let feed: string | undefined;

  /** Returns the visible states of an order since a virtual time. */
  function listStates(order: number, since: number): readonly (ShownOrder | undefined)[] {
    const first = commits.findLast(({ time }) => time <= since)?.commit ?? 0;
    return model.between(order, first, model.commit).map(({ shown }) => shown);
  }

  // Auctions do not have the orders of settlements.
  const isOpen = (shown: ShownOrder | undefined) => shown?.state === 'open' && !shown.isSwept && !shown.isJustInTime;

  function checkReport({ index, owner, validFrom = 0 }: PoolOrder, balance: string, required: string): void {
    const now = scheduler.time;
    const fail = (details: string) => report('shortfalls', `order ${index} was reported, but ${details}`);
    if (balance !== '0' || BigInt(required) !== NEEDED) fail(`the owner has ${balance} and needs ${required}`);
    // Two checks have found it, so the first has read the balance at least one interval ago.
    const earlier = balances.since(owner, now - MAX_CHECK_TIME, now - interval);
    if (!earlier.includes(0n)) fail(`the owner had ${earlier}`);
    if (!listStates(index, now - MAX_CHECK_TIME).some(isOpen)) fail('was not open');
    if (validFrom * 1000 > context.latestTime()) fail('has not begun');
  }

  function checkMark({ key, value }: ProgressMarker, reported: ReadonlySet<number>): void {
    const order = pool.byUid.get(key);
    if (order === undefined) {
      report('shortfalls', `the order ${key} does not exist`);
      return;
    }
    const { index, owner, validTo, validFrom } = order;
    if (value !== null) {
      if (marked.has(index) || !reported.has(index)) report('shortfalls', `order ${index} is marked a second time`);
      marked.add(index);
      return;
    }
    marked.delete(index);
    const since = scheduler.time - MAX_CHECK_TIME;
    const isPayable = balances.since(owner, since).some((amount) => amount >= NEEDED);
    // A clock that is set back makes such an order begin later.
    const isLate = validFrom !== undefined;
    const hasEnded = validTo * 1000 <= context.latestTime() || !listStates(index, since).every(isOpen);
    if (!isPayable && !hasEnded && !isLate)
      report('shortfalls', `the mark of order ${index} was deleted, but nothing has changed`);
  }

  /** Returns whether a check finds an order: it is open, and its funds are known. */
  function isChecked({ index, scheme, validTo, validFrom = 0, placedBy }: PoolOrder): boolean {
    if (validFrom > START + scheduler.time / 1000 - EXPIRY_TOLERANCE) return false;
    if (scheme === 'eip1271' || placedBy !== undefined || model.placed.get(index)?.source !== 'owner') return false;
    const { state, isSwept } = model.standing(index);
    return state === 'open' && !isSwept && validTo >= START + scheduler.time / 1000 + EXPIRY_TOLERANCE;
  }

  return {
    onAppend({ feed: name, changes, marks = [] }, { status }) {
      if (commits.at(-1)?.commit !== model.commit) commits.push({ time: scheduler.time, commit: model.commit });
      if (status !== 'appended' || !name.startsWith('funding ')) return;
      feed = name;
      const reported = new Set<number>();
      for (const change of changes) {
        const body = change.type === 'notify' ? parseBody(change.notification.body) : undefined;
        const order = pool.byUid.get(body?.metadata.orderUid ?? '');
        if (body?.type !== SHORTFALL || order === undefined) {
          report('shortfalls', `unexpected change: ${JSON.stringify(change)}`);
          continue;
        }
        reported.add(order.index);
        checkReport(order, body.metadata.balance, body.metadata.requiredAmount);
      }
      for (const mark of marks) checkMark(mark, reported);
      for (const index of reported)
        if (!marked.has(index)) report('shortfalls', `order ${index} was reported without a mark`);
    },
    async compare(notify) {
      for (const order of pool.orders) {
        if (!isChecked(order)) continue;
        const isShort = balances.get(order.owner) < NEEDED;
        const marks = feed === undefined ? [] : await store.notifications.marks(feed, [order.uid]);
        const isMarked = marks.length > 0;
        if (isMarked !== isShort)
          notify('liveness', `order ${order.index} is ${isMarked ? '' : 'not '}reported as unfunded`);
      }
    },
  };
}

interface Body {
  readonly type: string;
  readonly metadata: { readonly orderUid: Hex; readonly balance: string; readonly requiredAmount: string };
}

const parseBody = (text: string) => JSON.parse(text) as Body; // created by the account interface

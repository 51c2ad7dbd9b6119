import type { AppendOutcome, NotificationBatch } from 'intentbook';
import { DELIVERY_WINDOW } from 'intentbook/store-kit';
import { START } from '../machine/process.ts';
import type { Report } from './store-observer.ts';

/**
 * Checks that a target that fails or is slow does not delay the deliveries of other targets, and that each target
 * receives its notifications in order.
 */
export interface FairnessCheck {
  /** Requires the delivery of new notifications in time, if nothing but targets disturbs the system. */
  onAppend(batch: NotificationBatch, outcome: AppendOutcome): void;
  /** Checks that no earlier notification of the account is pending. */
  onArrival(body: string): void;
  /** Called when a notification is not attempted any more. Later ones overtake it. */
  onDead(notification: string): void;
  /** Called when it is attempted again. Later ones wait for it. */
  onReplayed(notification: string, account: string): void;
  /** Called when any other fault begins or ends: deliveries in progress may be late. */
  disturb(): void;
  /** Called when the fault of a target begins or ends. */
  disturbTarget(account: string): void;
  /** Reports the deliveries that are late. */
  check(): void;
}

export interface FairnessContext {
  readonly report: Report;
  /** Returns the virtual time in milliseconds. */
  readonly time: () => number;
  /** Returns whether all processes run without a fault. */
  readonly isQuiet: () => boolean;
  /** Returns whether the target of an account works. */
  readonly isWorking: (account: string) => boolean;
  /** Types that the targets subscribe to. */
  readonly types: readonly string[];
  /** Maximum difference of the clocks of two processes, in milliseconds. */
  readonly clockDifference: number;
}

/** Time for a delivery of an account without pending ones, in milliseconds: a late hint and the calls of a store. */
const MAX_DELAY = 3_500;

/** Maximum time of an attempt to a target that works, in milliseconds. An account has two attempts at once. */
const ATTEMPT_TIME = 500;

/**
 * Notifications with an earlier date need not be delivered, in milliseconds since 1970: a clock that was set back has
 * dated them before the window of the subscriptions, which are created in the first minute.
 */
const EARLIEST = START * 1000 + 60_000 - DELIVERY_WINDOW;

/** Time after a fault in which effects of it may remain, such as delays of workers, in milliseconds. */
const RECOVERY_TIME = 8_000;

export function createFairnessCheck(context: FairnessContext): FairnessCheck {
  const { report, time, isQuiet, isWorking, types, clockDifference } = context;
  /** Notifications that have not arrived, with their accounts, in the order of the account log. */
  const pending = new Map<string, string>();
  /**
   * Notifications that were withdrawn or dead at least once. One that is shown or attempted again has the position of
   * its first time.
   */
  const displaced = new Set<string>();
  /** The date of each notification when it was shown last. */
  const dates = new Map<string, number>();
  /** Notifications that are not attempted any more, also if they are withdrawn and shown again, unless replayed. */
  const dead = new Set<string>();
  /** Those that must arrive until a time. */
  const expected = new Map<string, { readonly account: string; readonly deadline: number }>();
  let disturbedAt = 0;
  const targetsDisturbedAt = new Map<string, number>();
  const arrived = new Set<string>();

  function check(): void {
    for (const [id, { account, deadline }] of expected) {
      if (deadline < time()) report('fairness', `notification ${id} of ${account} was not delivered until ${deadline}`);
    }
  }

  function checkOrder(id: string): void {
    const account = pending.get(id);
    const first = [...pending].find(([other, each]) => each === account && !displaced.has(other))?.[0];
    if (first === undefined || first === id || displaced.has(id)) return;
    report('deliveries', `notification ${id} of ${account} was delivered before ${first}`);
  }

  const isSteady = (since: number) => time() - since > RECOVERY_TIME;

  return {
    onAppend({ changes }, { status }) {
      if (status !== 'appended') return;
      check();
      // Later notifications of an account wait for its earlier ones. One that is shown again was delivered before.
      const waiting = new Set(pending.values());
      const added = new Map<string, number>();
      for (const change of changes) {
        if (change.type === 'withdraw') {
          if (arrived.has(change.id)) continue;
          displaced.add(change.id);
          pending.delete(change.id);
          expected.delete(change.id);
          continue;
        }
        const { id, account, type, at } = change.notification;
        // One that is shown again has the age of its first cause.
        const causedAt = dates.get(id) ?? at;
        dates.set(id, at);
        if (causedAt < EARLIEST) continue;
        if (!types.includes(type) || arrived.has(id) || dead.has(id) || pending.has(id)) continue;
        pending.set(id, account);
        const position = added.get(account) ?? 0;
        added.set(account, position + 1);
        const steady = isQuiet() && isSteady(disturbedAt) && isSteady(targetsDisturbedAt.get(account) ?? 0);
        if (waiting.has(account) || !steady || !isWorking(account)) continue;
        expected.set(id, { account, deadline: time() + MAX_DELAY + clockDifference + position * ATTEMPT_TIME });
      }
    },
    onArrival(body) {
      check();
      const { id } = JSON.parse(body) as { readonly id: string }; // a notification
      if (pending.has(id)) checkOrder(id);
      arrived.add(id);
      pending.delete(id);
      expected.delete(id);
    },
    onDead(id) {
      dead.add(id);
      displaced.add(id);
      pending.delete(id);
      expected.delete(id);
    },
    onReplayed(id, account) {
      dead.delete(id);
      if (!arrived.has(id)) pending.set(id, account);
    },
    disturb() {
      check();
      disturbedAt = time();
      expected.clear();
    },
    disturbTarget(account) {
      check();
      targetsDisturbedAt.set(account, time());
      for (const [id, each] of expected) if (each.account === account) expected.delete(id);
    },
    check,
  };
}

import type { ClaimedDelivery, DeliveryStore } from 'intentbook';
import type { Report } from './store-observer.ts';

/** A delivery that was attempted. */
interface Attempted {
  readonly subscription: string;
  readonly notification: string;
  attempts: number;
  state: 'pending' | 'delivered' | 'dead';
}

/** Checks that a delivery is dead after the last attempt only, and that a replay gives it all attempts again. */
export interface AttemptCheck {
  /** Follows a call of the account store. */
  onCall(name: string, args: readonly unknown[], result: unknown): void;
  /** Checks that no delivery is dead. */
  requireNone(notify: Report): Promise<void>;
  /** Whether a delivery is dead. */
  readonly hasDead: boolean;
}

export interface AttemptCheckContext {
  readonly deliveries: Pick<DeliveryStore, 'count'>;
  /** Maximum number of attempts. */
  readonly limit: number;
  readonly report: Report;
  /** Returns whether a notification exists and was not withdrawn. */
  readonly isVisible: (notification: string) => boolean;
  readonly onDead: (subscription: string, notification: string) => void;
  /** Called when a dead delivery is pending again. */
  readonly onReplayed: (subscription: string, notification: string) => void;
}

type Result = Parameters<DeliveryStore['recordResult']>[0];

export function createAttemptCheck(context: AttemptCheckContext): AttemptCheck {
  const { limit, report, isVisible } = context;
  const known = new Map<number, Attempted>();
  const listDead = () => [...known].filter(([, { state }]) => state === 'dead');

  function onClaim({ seq, subscription: { id }, notification, attempt }: ClaimedDelivery): void {
    const each = known.get(seq) ?? { subscription: id, notification, attempts: 0, state: 'pending' };
    known.set(seq, each);
    each.attempts++;
    if (each.state !== 'pending') report('deliveries', `delivery ${seq} is ${each.state}, but is claimed`);
    if (each.attempts !== attempt)
      report('deliveries', `delivery ${seq}: attempt ${attempt} is the ${each.attempts}th`);
    if (!isVisible(notification)) report('deliveries', `delivery ${seq} was withdrawn, but is claimed`);
  }

  function onResult({ seq, outcome: { status } }: Result): void {
    const each = known.get(seq);
    if (each === undefined) {
      report('deliveries', `delivery ${seq} has a result, but was not claimed`);
      return;
    }
    if (status === 'released') each.attempts--;
    else if (status === 'delivered') each.state = 'delivered';
    else if ((status === 'dead') !== each.attempts >= limit)
      report('deliveries', `delivery ${seq}: ${status} after ${each.attempts} of ${limit} attempts`);
    if (status !== 'dead') return;
    each.state = 'dead';
    context.onDead(each.subscription, each.notification);
  }

  function onReplay(seqs: readonly number[] | undefined, count: number): void {
    let expected = 0;
    for (const [seq, each] of listDead()) {
      if (seqs?.includes(seq) === false) continue;
      each.state = 'pending';
      // It is pending only if its notification is shown again.
      if (!isVisible(each.notification)) continue;
      each.attempts = 0;
      expected++;
      context.onReplayed(each.subscription, each.notification);
    }
    if (count !== expected) report('deliveries', `${count} deliveries were replayed, expected ${expected}`);
  }

  return {
    get hasDead() {
      return listDead().length > 0;
    },
    onCall(name, [first], result) {
      // The arguments and results are those of the port.
      if (name === 'deliveries.claim') (result as { claimed: readonly ClaimedDelivery[] }).claimed.forEach(onClaim);
      else if (name === 'deliveries.recordResult' && result === 'recorded') onResult(first as Result);
      else if (name === 'deliveries.replay') onReplay((first as { seqs?: readonly number[] }).seqs, result as number);
      else if (name === 'subscriptions.remove' && result === 'removed') {
        const { id } = first as { id: string };
        for (const [seq, { subscription }] of known) if (subscription === id) known.delete(seq);
      }
    },
    async requireNone(notify) {
      const dead = listDead();
      const counts = await context.deliveries.count();
      if (dead.length !== counts.dead)
        notify('deliveries', `${counts.dead} deliveries are dead, expected ${dead.length}`);
      if (dead.length > 0) notify('liveness', `delivery ${dead[0]?.[0]} is dead`);
    },
  };
}

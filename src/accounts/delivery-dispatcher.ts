import { withDeadline } from '../concurrency/deadline.ts';
import type { AccountStore, ClaimedDelivery } from '../ports/account-store.ts';
import type { Channel, DeliveryResult } from '../ports/channel.ts';
import type { Cancel, Clock } from '../ports/clock.ts';
import { createHashedId } from './notification-rules.ts';

/** Retry options of deliveries. */
export interface DeliveryOptions {
  /** Maximum number of attempts before a delivery is dead. Default: 12. */
  readonly attempts?: number;
  /** Delay before the second attempt, in milliseconds. Doubled for each further attempt. Default: 1000. */
  readonly retryDelay?: number;
  /** Maximum delay between attempts, in milliseconds. Default: 3600000 (one hour). */
  readonly maxRetryDelay?: number;
  /** Time limit of an attempt, in milliseconds. Default: three times the `timeout` of the account interface. */
  readonly timeout?: number;
}

export interface DispatchContext extends Required<DeliveryOptions> {
  readonly store: AccountStore;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly clock: Clock;
  /** Returns a random number from 0 to 1 that spreads the attempts. */
  readonly jitter: () => number;
  readonly onFailure: (failure: unknown) => void;
}

/** The worker that makes pending deliveries. */
export interface Dispatcher {
  start(): void;
  /** Checks for new deliveries. */
  wake(): void;
  /** Waits for running deliveries. */
  stop(): Promise<void>;
}

/** Maximum number of concurrent deliveries. */
const MAX_CONCURRENT = 32;

/** Interval between two checks for deliveries that other processes have left, in milliseconds. */
const INTERVAL = 5_000;

/**
 * Creates a dispatcher. A delivery is claimed before an attempt, so that only one of several processes attempts it. If
 * a process dies in between, the claim expires. So each notification arrives at least once, with a constant id.
 */
export function createDispatcher(context: DispatchContext): Dispatcher {
  const { store, channels, clock, timeout: deadline, onFailure } = context;
  const running = new Set<Promise<void>>();
  let claiming: Promise<void> | undefined;
  let again = false;
  let stopped = true;
  let cancel: Cancel = () => {};

  async function attempt({ subscription, notification, body }: ClaimedDelivery): Promise<DeliveryResult> {
    const channel = channels.get(subscription.channel);
    if (channel === undefined)
      return { status: 'failed', error: `the channel ${subscription.channel} is not configured` };
    const id = `msg_${createHashedId([subscription.id, notification])}`;
    try {
      return await withDeadline(clock, deadline, (signal) =>
        channel.deliver({ id, subscription, body, now: clock.now() }, { signal }),
      );
    } catch (failure) {
      return { status: 'failed', error: failure instanceof Error ? failure.message : 'the channel failed' };
    }
  }

  async function deliver(claimed: ClaimedDelivery): Promise<void> {
    try {
      const { seq, claim, subscription } = claimed;
      const result = await attempt(claimed);
      if (result.status === 'delivered') {
        await store.deliveries.settle({ seq, claim, outcome: result });
      } else if (result.status === 'gone') {
        await store.subscriptions.remove({ id: subscription.id, account: subscription.account, now: clock.now() });
      } else {
        await store.deliveries.settle({ seq, claim, outcome: toFailedOutcome(claimed, result) });
      }
    } catch (failure) {
      onFailure(failure);
    }
  }

  function toFailedOutcome(
    { attempt: attempts }: ClaimedDelivery,
    { error, retryAfter = 0 }: DeliveryResult & { status: 'failed' },
  ) {
    const text = error.slice(0, 500);
    if (attempts >= context.attempts) return { status: 'dead', error: text } as const;
    const exponential = Math.min(context.maxRetryDelay, context.retryDelay * 2 ** (attempts - 1));
    const wait = Math.max(
      exponential * (0.5 + context.jitter() / 2),
      Math.min(retryAfter * 1000, context.maxRetryDelay),
    );
    return { status: 'retry', at: clock.now() + Math.ceil(wait), error: text } as const;
  }

  /** Claims and starts deliveries. Returns the time until the next check, in milliseconds. */
  async function claim(): Promise<number> {
    const free = MAX_CONCURRENT - running.size;
    if (free <= 0) return INTERVAL;
    const now = clock.now();
    // Twice the time limit of an attempt, so that no other process claims it in the meantime.
    const { claimed, next } = await store.deliveries.claim({ now, until: now + 2 * deadline, limit: free });
    for (const each of claimed) {
      const task = deliver(each).finally(() => {
        running.delete(task);
        wake();
      });
      running.add(task);
    }
    return next === null ? INTERVAL : Math.min(INTERVAL, Math.max(1, next - now));
  }

  async function run(): Promise<void> {
    let wait = INTERVAL;
    try {
      do {
        again = false;
        wait = await claim();
      } while (again && !stopped);
    } catch (failure) {
      onFailure(failure);
    }
    claiming = undefined;
    if (again) wake();
    else if (!stopped) cancel = clock.after(wait, wake);
  }

  function wake(): void {
    again = true;
    if (stopped || claiming !== undefined) return;
    cancel();
    claiming = run();
  }

  return {
    start() {
      stopped = false;
      wake();
    },
    wake,
    async stop() {
      stopped = true;
      cancel();
      await claiming;
      await Promise.all(running);
    },
  };
}

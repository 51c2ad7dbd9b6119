import { withDeadline } from '../concurrency/deadline.ts';
import type { AccountStore, ClaimedDelivery } from '../ports/account-store.ts';
import type { Channel, DeliveryResult } from '../ports/channel.ts';
import type { Cancel, Clock } from '../ports/clock.ts';
import { hashedId } from './notification-rules.ts';

/** How deliveries are tried again, and when they are given up. */
export interface DeliveryOptions {
  /** How often a delivery is tried before it is dead. Default 12. */
  readonly attempts?: number;
  /** Milliseconds until the second try; each further one waits twice as long. Default 1000. */
  readonly retryDelay?: number;
  /** Milliseconds that a try waits at most. Default one hour. */
  readonly maxRetryDelay?: number;
  /** Milliseconds that a try may take. Default three times the `deadline` of the account interface. */
  readonly timeout?: number;
}

export interface DispatchContext extends Required<DeliveryOptions> {
  readonly store: AccountStore;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly clock: Clock;
  /** From 0 up to 1, by which tries are spread. */
  readonly jitter: () => number;
  readonly onFailure: (failure: unknown) => void;
}

/** Delivers what is pending, for as long as it runs. */
export interface Dispatcher {
  start(): void;
  /** There may be something new. */
  wake(): void;
  /** Waits for deliveries that run. */
  stop(): Promise<void>;
}

/** How many deliveries run at once. */
const AT_ONCE = 32;

/** Milliseconds after which is looked for what other processes may have left. */
const INTERVAL = 5_000;

/**
 * Makes a dispatcher. A delivery is claimed before it is tried, so that of several processes one tries it; a process that
 * dies in between leaves it to be claimed again. So each arrives at least once, under an id that does not change.
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
    if (channel === undefined) return { status: 'failed', error: `the channel ${subscription.channel} is not served` };
    const id = `msg_${hashedId([subscription.id, notification])}`;
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
        await store.deliveries.settle({ seq, claim, outcome: failureOf(claimed, result) });
      }
    } catch (failure) {
      onFailure(failure);
    }
  }

  function failureOf(
    { attempt: tried }: ClaimedDelivery,
    { error, retryAfter = 0 }: DeliveryResult & { status: 'failed' },
  ) {
    const text = error.slice(0, 500);
    if (tried >= context.attempts) return { status: 'dead', error: text } as const;
    const exponential = Math.min(context.maxRetryDelay, context.retryDelay * 2 ** (tried - 1));
    const wait = Math.max(
      exponential * (0.5 + context.jitter() / 2),
      Math.min(retryAfter * 1000, context.maxRetryDelay),
    );
    return { status: 'retry', at: clock.now() + Math.ceil(wait), error: text } as const;
  }

  /** @returns milliseconds until there may be something to do. */
  async function claim(): Promise<number> {
    const free = AT_ONCE - running.size;
    if (free <= 0) return INTERVAL;
    const now = clock.now();
    // Twice the time that a try may take, so that nobody else tries it meanwhile.
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

  async function work(): Promise<void> {
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
    claiming = work();
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

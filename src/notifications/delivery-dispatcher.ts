import type { AccountTools } from '../account-tools/account-tools.ts';
import { withDeadline } from '../concurrency/abort.ts';
import { createWorker, type Worker } from '../concurrency/lifecycle.ts';
import type { Channel, DeliveryResult } from '../ports/channel.ts';
import { readMonotonic, thenAlways } from '../ports/clock.ts';
import type { ClaimedDelivery } from '../ports/delivery-store.ts';
import { formatError } from '../validation/error-text.ts';
import { createHashedId, getUnsubscribePath } from './hashed-ids.ts';
import { createWaitingDeliveries } from './waiting-deliveries.ts';

/** How deliveries are retried. */
export interface DeliveryOptions {
  /** Maximum number of attempts; then the delivery is dead. Default: 45, which take about a day. */
  readonly attempts?: number;
  /** Milliseconds until the second attempt. Each further delay is twice as long. Default: 1000. */
  readonly retryDelay?: number;
  /** Maximum milliseconds between two attempts. Default: 3600000, one hour. */
  readonly maxRetryDelay?: number;
  /** Maximum milliseconds of an attempt. Default: three times the `timeout` of the account interface. */
  readonly timeout?: number;
}

/** Delivers pending notifications in the background. `stop` aborts attempts that take more than two further seconds. */
export type DeliveryDispatcher = Pick<Worker, 'start' | 'wake' | 'stop'>;

/**
 * Maximum number of concurrent attempts of a lane: of the reliable subscriptions of a channel, and of its others.
 * Targets that fail or hang then delay no target that works.
 */
const MAX_PER_LANE = 16;

/** Maximum number of concurrent attempts for an account. A slow target then does not delay other accounts. */
const MAX_PER_ACCOUNT = 2;
/**
 * Maximum number of concurrent attempts to a target host, and to its address. It then does not delay other hosts.
 * Further deliveries wait for a short time.
 */
const MAX_PER_HOST = 4;

/** Milliseconds of failures after which a subscription is suspended. */
const SUSPENSION = 86_400_000;

/**
 * Milliseconds until a delivery that was released, because its host or address is busy, can be claimed again. The delay
 * grows with each lane of deliveries that are released before an attempt to the host or address ends.
 */
const RELEASE_DELAY = 1_000;

/** Difference of the clocks of two processes, in milliseconds. A later time is that of a clock that was set back. */
const MAX_CLOCK_DIFFERENCE = 60_000;

/**
 * Milliseconds until the store is queried again without a signal. It finds the deliveries of processes that have ended.
 */
const INTERVAL = 5_000;

/** Milliseconds that attempts in progress may take when the dispatcher stops. Then they are aborted and repeated. */
const STOP_TIMEOUT = 2_000;

/** Maximum number of characters of an error that are stored. */
const MAX_ERROR_LENGTH = 500;

type DispatcherContext = Pick<AccountTools, 'store' | 'clock' | 'onFailure'> &
  Required<DeliveryOptions> & {
    readonly channels: ReadonlyMap<string, Channel>;
    /** Returns a random number from 0 to below 1. It spreads retries over time. */
    readonly jitter: () => number;
  };

/**
 * Creates a dispatcher.
 *
 * It claims a delivery before an attempt, so that one of several processes attempts it. After a crash the claim expires
 * and another process takes over. So each notification arrives at least once, under an id that does not change.
 *
 * Accounts, lanes of channels, target hosts and their addresses have limits of concurrent attempts. A host that was
 * slow or has not responded yet gets a shorter timeout. So a slow target delays its own notifications only. A
 * subscription is suspended after a day of failures, if the channel works for others.
 */
export function createDeliveryDispatcher(context: DispatcherContext): DeliveryDispatcher {
  const { store, channels, clock, timeout, onFailure } = context;
  const inProgress = new Map<Promise<void>, ClaimedDelivery>();
  const delays = createReleaseDelays();
  const waiting = createWaitingDeliveries(clock, (delivery, key) => void release(delivery, delays.next(key)));
  const load = createLoad(channels, inProgress, waiting.all);
  const { attempt, cancelAll } = createAttempts(context, freed);
  /** When a channel has delivered last, in milliseconds since 1970. */
  const lastDelivered = new Map<string, number>();
  let isStopping = false;
  /** Whether the time for attempts in progress is over, after the dispatcher was stopped. */
  let isOverdue = false;
  // A claim lasts twice the timeout, so that no other process attempts the delivery meanwhile.
  const claimDuration = 2 * timeout;
  const maxDelay = Math.max(context.maxRetryDelay, claimDuration, RELEASE_DELAY) + MAX_CLOCK_DIFFERENCE;

  async function release({ seq, claim }: ClaimedDelivery, delay = RELEASE_DELAY): Promise<void> {
    const at = clock.now() + Math.min(delay, maxDelay);
    await store.deliveries.recordResult({ seq, claim, outcome: { status: 'released', at } }).catch(onFailure);
  }

  async function deliver(delivery: ClaimedDelivery): Promise<void> {
    try {
      const { seq, claim, subscription } = delivery;
      const { channel } = subscription;
      const result = await attempt(delivery);
      if (result.status === 'delivered') lastDelivered.set(channel, clock.now());
      if (result.status === 'deferred') await wait(delivery, result.busy);
      else if (result.status === 'failed' && isOverdue) await release(delivery);
      else if (result.status === 'delivered') {
        await store.deliveries.recordResult({ seq, claim, outcome: result });
      } else if (result.status === 'gone') {
        await store.subscriptions.remove({ id: subscription.id, account: subscription.account });
      } else {
        const outcome = toFailedOutcome(delivery, result, context, lastDelivered.get(channel) ?? 0);
        await store.deliveries.recordResult({ seq, claim, outcome });
      }
    } catch (failure) {
      onFailure(failure);
    }
  }

  /** Keeps a delivery until its host or address has a slot. */
  async function wait(delivery: ClaimedDelivery, key: string | undefined): Promise<void> {
    if (isStopping || key === undefined) await release(delivery);
    else if (!waiting.add(key, delivery)) await release(delivery, delays.next(key));
  }

  /** Called when a host or an address has a slot again. */
  function freed(key: string): void {
    delays.reset(key);
    const next = waiting.all.size === 0 ? undefined : waiting.take(key);
    if (next !== undefined) void start(next);
  }

  /** Starts an attempt. @returns a promise if the delivery waits for its host. */
  function start(delivery: ClaimedDelivery): Promise<void> | undefined {
    const host = load.getHost(delivery.subscription);
    if (host !== undefined && load.isHostBusy(host)) return wait(delivery, host);
    const task = thenAlways(deliver(delivery), () => {
      inProgress.delete(task);
      if (host !== undefined) freed(host);
      worker.wake();
    });
    inProgress.set(task, delivery);
    return undefined;
  }

  const worker = createWorker({
    clock,
    interval: INTERVAL,
    onFailure,
    async run() {
      const lanes = load.getLanes();
      // One more lane, so that deliveries of a channel that is not configured fail.
      const limit = (lanes.length + 1) * MAX_PER_LANE;
      const now = clock.now();
      const accounts = { perAccount: MAX_PER_ACCOUNT, busyAccounts: load.getBusyAccounts() };
      const request = { now, until: now + claimDuration, maxDelay, limit, lanes, ...accounts };
      // The claim lasts until the end of an attempt that waits, also after one that was deferred late.
      const mayWaitUntil = readMonotonic(clock) + Math.min(RELEASE_DELAY, timeout / 2);
      const { claimed, next } = await store.deliveries.claim(request);
      for (const delivery of claimed) {
        waiting.limits.set(delivery, mayWaitUntil);
        const isOver = load.countOfAccount(delivery.subscription.account) >= MAX_PER_ACCOUNT;
        if (isOver || isOverdue) {
          await release(delivery);
          continue;
        }
        const isWaiting = start(delivery);
        await isWaiting;
        if (isWaiting !== undefined) worker.wake(); // deliveries to other hosts may be due after those of this claim
      }
      return next === null ? INTERVAL : Math.min(INTERVAL, Math.max(1, next - now));
    },
  });

  return {
    start() {
      isStopping = false;
      isOverdue = false;
      worker.start();
    },
    wake: worker.wake,
    async stop() {
      isStopping = true;
      const cancel = clock.after(STOP_TIMEOUT, () => {
        isOverdue = true;
        cancelAll(new Error('the dispatcher stops'));
      });
      await worker.stop();
      await Promise.all(waiting.takeAll().map((delivery) => release(delivery)));
      await Promise.all(inProgress.keys());
      cancel();
    },
  };
}

/** Creates the function that sends a delivery, and the one that cancels all attempts in progress. */
function createAttempts(
  { channels, clock, timeout }: Pick<DispatcherContext, 'channels' | 'clock' | 'timeout'>,
  onFree: (address: string) => void,
) {
  const addresses = createAddressSlots(onFree);
  const slowHosts = createSlowHosts(timeout);
  // One signal for all attempts would have more listeners than Node.js accepts without a warning.
  const cancellations = new Set<AbortController>();

  async function attempt(delivery: ClaimedDelivery): Promise<DeliveryResult & { readonly busy?: string }> {
    const { subscription, notification, body } = delivery;
    const channel = channels.get(subscription.channel);
    if (channel === undefined)
      return { status: 'failed', error: `the channel ${subscription.channel} is not configured` };
    const id = `msg_${createHashedId([subscription.id, notification])}`;
    const startedAt = readMonotonic(clock);
    const cancellation = new AbortController();
    cancellations.add(cancellation);
    let host: string | undefined;
    const slots = addresses.createSlots();
    try {
      host = channel.getHost?.(subscription.target);
      const send = (signal: AbortSignal) =>
        channel.deliver(
          { id, subscription, body, now: clock.now(), ...getUnsubscribePath(subscription) },
          { signal, enter: slots.enter },
        );
      const limit = slowHosts.getTimeout(host, delivery.attempt === 1 && !delivery.isReliable);
      const result = requireResult(await withDeadline(clock, limit, send, cancellation.signal));
      if (result.status !== 'deferred') return result;
      host = undefined; // without a connection, it was neither fast nor slow
      return { ...result, ...slots.getBusy() };
    } catch (failure) {
      return { status: 'failed', error: formatError(failure) };
    } finally {
      cancellations.delete(cancellation);
      slots.leave();
      slowHosts.record(host, readMonotonic(clock) - startedAt);
    }
  }

  function cancelAll(reason: Error): void {
    for (const each of cancellations) each.abort(reason);
  }

  return { attempt, cancelAll };
}

/** Creates the view of the attempts in progress, by account, lane and host. An account also has those that wait. */
function createLoad(
  channels: DispatcherContext['channels'],
  inProgress: ReadonlyMap<Promise<void>, ClaimedDelivery>,
  waiting: ReadonlySet<ClaimedDelivery>,
) {
  const count = (matches: (delivery: ClaimedDelivery) => boolean) => [...inProgress.values()].filter(matches).length;
  const countOfAccount = (account: string) =>
    [...inProgress.values(), ...waiting].filter(({ subscription }) => subscription.account === account).length;

  /** Returns the accounts that have their maximum number of attempts in progress. */
  function getBusyAccounts() {
    const accounts = new Set([...inProgress.values(), ...waiting].map(({ subscription }) => subscription.account));
    return [...accounts].filter((account) => countOfAccount(account) >= MAX_PER_ACCOUNT);
  }

  /** Returns the lanes of all channels, with their free slots. */
  function getLanes() {
    return [...channels.keys()].flatMap((channel) =>
      [true, false].map((isReliable) => {
        const running = count((each) => each.subscription.channel === channel && each.isReliable === isReliable);
        return { channel, isReliable, limit: Math.max(0, MAX_PER_LANE - running) };
      }),
    );
  }

  /** Returns the channel and host of a target. `undefined` if the channel fails: the attempt then fails as well. */
  function getHost({ channel, target }: ClaimedDelivery['subscription']): string | undefined {
    try {
      const host = channels.get(channel)?.getHost?.(target);
      return host === undefined ? undefined : `${channel} ${host}`;
    } catch {
      return undefined;
    }
  }

  /** Returns whether a host has its maximum number of attempts in progress. */
  const isHostBusy = (host: string) => count((each) => getHost(each.subscription) === host) >= MAX_PER_HOST;

  return { countOfAccount, getBusyAccounts, getLanes, getHost, isHostBusy };
}

function toFailedOutcome(
  { attempt: attempts, subscription: { failingSince } }: ClaimedDelivery,
  { error, retryAfter = 0 }: DeliveryResult & { status: 'failed' },
  { clock, jitter, attempts: maxAttempts, retryDelay, maxRetryDelay }: DispatcherContext,
  lastDelivered: number,
) {
  const text = error.slice(0, MAX_ERROR_LENGTH).replaceAll('\0', ' '); // which PostgreSQL cannot store
  // Without a delivery since then, the cause may be the channel itself, or the network of this host.
  if (failingSince !== undefined && clock.now() - failingSince >= SUSPENSION && lastDelivered >= failingSince)
    return { status: 'suspended', error: text } as const;
  if (attempts >= maxAttempts) return { status: 'dead', error: text } as const;
  const exponential = Math.min(maxRetryDelay, retryDelay * 2 ** (attempts - 1));
  const spread = exponential * (0.5 + jitter() / 2);
  const delay = Math.max(spread, Math.min(retryAfter * 1000, maxRetryDelay) || 0);
  return { status: 'retry', at: clock.now() + Math.ceil(delay), error: text } as const;
}

/** Creates the delays of deliveries that are released, by their host or address, in milliseconds. */
function createReleaseDelays() {
  /** Numbers of deliveries that were released since an attempt has ended. */
  const counts = new Map<string, number>();
  return {
    next(key: string): number {
      const count = counts.get(key) ?? 0;
      counts.set(key, count + 1);
      return RELEASE_DELAY * (1 + Math.floor(count / MAX_PER_LANE));
    },
    /** Called when an attempt has ended. */
    reset: (key: string) => void counts.delete(key),
  };
}

/** Creates the limit of concurrent attempts to an address. */
function createAddressSlots(onFree: (address: string) => void) {
  const used = new Map<string, number>();
  return {
    /** Creates the slots of one attempt. */
    createSlots() {
      const entered: string[] = [];
      let isOver = false;
      let busy: string | undefined;
      return {
        enter(address: string): boolean {
          const count = used.get(address) ?? 0;
          busy = isOver || count >= MAX_PER_HOST ? address : undefined;
          if (busy !== undefined) return false;
          used.set(address, count + 1);
          entered.push(address);
          return true;
        },
        /** Returns the address that has no free slot, if there is one. */
        getBusy: () => (busy === undefined ? {} : { busy }),
        leave(): void {
          isOver = true;
          for (const address of entered) {
            const count = (used.get(address) ?? 0) - 1;
            if (count > 0) used.set(address, count);
            else used.delete(address);
            onFree(address);
          }
        },
      };
    },
  };
}

/** Checks the result of a channel, which may be JavaScript. @throws TypeError if it is not valid. */
function requireResult(result: DeliveryResult | undefined): DeliveryResult {
  if (result?.status === 'delivered' || result?.status === 'gone' || result?.status === 'deferred') return result;
  if (result?.status === 'failed' && typeof result.error === 'string') return result;
  throw new TypeError('the channel has returned an invalid result');
}

/**
 * Duration of an attempt from which its host counts as slow, in milliseconds. It is also the timeout of a slow host.
 */
const SLOW = 5_000;

/** Maximum number of slow hosts that are remembered. The oldest are forgotten first. */
const MAX_HOSTS = 1_000;

/**
 * Creates the memory of slow hosts.
 *
 * @param timeout - Timeout of a host that is not slow, in milliseconds.
 */
export function createSlowHosts(timeout: number) {
  const slow = new Set<string>();
  return {
    /**
     * Returns the timeout of the next attempt, in milliseconds.
     *
     * @param isFirst - Whether no attempt to the target has succeeded, and this is the first of a delivery.
     */
    getTimeout: (host: string | undefined, isFirst: boolean): number =>
      host !== undefined && (isFirst || slow.has(host)) ? Math.min(timeout, SLOW) : timeout,
    /** Records the duration of an attempt, in milliseconds. A fast attempt ends the shorter timeout. */
    record(host: string | undefined, duration: number): void {
      if (host === undefined) return;
      slow.delete(host);
      if (duration < Math.min(timeout, SLOW)) return;
      slow.add(host);
      const [oldest] = slow;
      if (slow.size > MAX_HOSTS && oldest !== undefined) slow.delete(oldest);
    },
  };
}

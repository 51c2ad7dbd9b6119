import { onAbort } from '../concurrency/abort.ts';
import type { OrderBookError } from '../errors.ts';
import { type Clock, readMonotonic } from '../ports/clock.ts';
import type { EstimateContext } from '../ports/estimator.ts';

/** The validated result of an estimator. */
export type RaceResponse<T> =
  | { readonly outcome: 'responded'; readonly value: T }
  /** There is no route. */
  | { readonly outcome: 'none' }
  /** The result is not valid. */
  | { readonly outcome: 'invalid' }
  /** The trade is impossible, for example because of an unsupported token. */
  | { readonly outcome: 'rejected'; readonly error: OrderBookError };

/** The outcome of one estimator call. */
export type EstimatorOutcome =
  | RaceResponse<unknown>['outcome']
  /** The estimator threw or rejected. */
  | 'failed'
  /** The estimator exceeded the deadline. */
  | 'late'
  /** All callers have left. */
  | 'abandoned';

export interface RaceRunner<T> {
  readonly name: string;
  run(context: EstimateContext): Promise<RaceResponse<T>>;
}

export interface RaceOptions<T> {
  readonly runners: readonly RaceRunner<T>[];
  readonly clock: Clock;
  /** The timeout that is passed to the estimators, in milliseconds. The race ends with its last subscription. */
  readonly timeout: number;
  /** Called once for each runner. */
  readonly observe: (source: string, outcome: EstimatorOutcome, ms: number, cause?: unknown) => void;
  /** Called once at the end of the race, unless it ends immediately. */
  readonly onEnd: () => void;
}

/**
 * The state of a race: running; all estimators have finished; the last subscription timed out; all have left; the book
 * has closed it.
 */
export type RaceState = 'running' | 'complete' | 'late' | 'abandoned' | 'closed';

/** Concurrent calls of several estimators, which end when no subscription remains. */
export interface Race<T> {
  readonly state: RaceState;
  /** Start time, in milliseconds of `readMonotonic`. */
  readonly startedAt: number;
  /**
   * Subscribes to the results, for at most `timeout` milliseconds. When no subscription remains, the race ends and its
   * estimators are aborted.
   *
   * @param onOver - Called when the subscription is over, except if it was over from the start or was cancelled by
   * `unsubscribe`.
   */
  subscribe(timeout: number, onOver?: (subscription: RaceSubscription<T>) => void): RaceSubscription<T>;
  /** Ends the race for all subscribers. */
  close(): void;
}

/** A subscription to a race with its own deadline, independent of other subscriptions. */
export interface RaceSubscription<T> {
  /** The results that arrived during this subscription, in order of arrival. */
  readonly responses: readonly T[];
  readonly rejections: readonly OrderBookError[];
  /** Whether an estimator has failed, or has not responded yet. */
  readonly failed: boolean;
  /** No more results will arrive. */
  readonly over: boolean;
  /** The book has closed the race early. */
  readonly closed: boolean;
  /**
   * Fulfilled at the next result, or when the subscription is over. Rejects with the signal's reason when it is
   * aborted.
   */
  changed(signal?: AbortSignal): Promise<void>;
  unsubscribe(): void;
}

/** Starts a race. An estimator that throws, hangs or is late does not affect the others. */
export function startRace<T>({ runners, clock, timeout, observe, onEnd }: RaceOptions<T>): Race<T> {
  const responses: T[] = [];
  const rejections: OrderBookError[] = [];
  const subscriptions = new Set<{ changed(): void }>();
  const controller = new AbortController();
  const running = new Set(runners.map(({ name }) => name));
  const startedAt = readMonotonic(clock);
  let state: RaceState = running.size === 0 ? 'complete' : 'running';
  let hasFailed = false;

  const isIncomplete = () => hasFailed || running.size > 0;
  const elapsed = () => Math.max(0, readMonotonic(clock) - startedAt);

  function end(reason: Exclude<RaceState, 'running'>): void {
    if (state !== 'running') return;
    state = reason;
    for (const name of running) observe(name, reason === 'late' ? 'late' : 'abandoned', elapsed());
    controller.abort();
    onEnd();
    for (const entry of [...subscriptions]) entry.changed();
  }

  async function run(runner: RaceRunner<T>): Promise<void> {
    const { result, cause } = await callRunner(runner, { signal: controller.signal, timeout });
    if (state !== 'running') return;
    running.delete(runner.name);
    if (result === undefined) hasFailed = true;
    observe(runner.name, result?.outcome ?? 'failed', elapsed(), cause);
    if (result?.outcome === 'responded') responses.push(result.value);
    if (result?.outcome === 'rejected') rejections.push(result.error);
    if (running.size === 0) end('complete');
    else if (result?.outcome === 'responded') for (const entry of [...subscriptions]) entry.changed();
  }

  function subscribe(timeout: number, onOver?: (subscription: RaceSubscription<T>) => void): RaceSubscription<T> {
    if (state !== 'running') return createEndedSubscription({ responses, rejections, failed: isIncomplete() }, state);
    let over = false;
    let seen: Pick<RaceSubscription<T>, 'responses' | 'rejections' | 'failed'> = {
      responses,
      rejections,
      get failed() {
        return isIncomplete();
      },
    };
    const waiting = new Set<() => void>();

    function finish(reason: 'late' | 'abandoned'): void {
      if (over) return;
      over = true;
      seen = { responses: [...responses], rejections: [...rejections], failed: seen.failed };
      cancel();
      subscriptions.delete(entry);
      if (subscriptions.size === 0) end(reason);
      wakeAll(waiting);
    }
    const entry = {
      changed() {
        if (state === 'running') return wakeAll(waiting);
        finish('abandoned');
        onOver?.(subscription);
      },
    };
    const cancel = clock.after(timeout, () => {
      finish('late');
      onOver?.(subscription);
    });
    const subscription: RaceSubscription<T> = {
      get responses() {
        return seen.responses;
      },
      get rejections() {
        return seen.rejections;
      },
      get failed() {
        return seen.failed;
      },
      get over() {
        return over;
      },
      get closed() {
        return state === 'closed';
      },
      changed: (signal) => waitUnlessAborted(signal, over ? undefined : (resolve) => waiting.add(resolve)),
      unsubscribe: () => finish('abandoned'),
    };
    subscriptions.add(entry);
    return subscription;
  }

  for (const runner of runners) void run(runner);
  return {
    get state() {
      return state;
    },
    startedAt,
    subscribe,
    close: () => end('closed'),
  };
}

async function callRunner<T>(runner: RaceRunner<T>, context: EstimateContext) {
  try {
    return { result: await runner.run(context), cause: undefined };
  } catch (cause) {
    return { result: undefined, cause };
  }
}

/** Creates a subscription to a race that was over before: its results do not change any more. */
function createEndedSubscription<T>(
  seen: Pick<RaceSubscription<T>, 'responses' | 'rejections' | 'failed'>,
  state: RaceState,
): RaceSubscription<T> {
  return {
    ...seen,
    over: true,
    closed: state === 'closed',
    changed: (signal) => waitUnlessAborted(signal),
    unsubscribe() {},
  };
}

/** Calls functions once, without those that they add. */
function wakeAll(waiting: Set<() => void>): void {
  const woken = [...waiting];
  waiting.clear();
  for (const resolve of woken) resolve();
}

/** Waits for a callback, if any. Rejects with the signal's reason as soon as it is aborted. */
async function waitUnlessAborted(signal?: AbortSignal, listen?: (resolve: () => void) => void): Promise<void> {
  signal?.throwIfAborted();
  if (listen === undefined) return;
  await new Promise<void>((resolve, reject) => {
    // An auction queries the prices of many tokens with one signal.
    const remove = signal && onAbort(signal, () => reject(signal.reason));
    listen(() => {
      remove?.();
      resolve();
    });
  });
}

import { type Cancel, type Clock, isRecent, readMonotonic, thenAlways } from '../ports/clock.ts';
import { StoreError } from '../ports/store.ts';

/** The steps of a component's start and close. `T` is the state that exists while it runs. */
export interface LifecycleSteps<T> {
  open(): Promise<T>;
  /** Returns the workers to start after `open`, when work is accepted. */
  workers(): readonly ({ start(): void } | undefined)[];
  /** Stops everything. Calls `end` at the point from which new work is rejected. */
  close(end: () => void): Promise<void>;
}

/**
 * Creates the start and the close of a component: a book, or the account interface. A closed component can be started
 * again. Concurrent callers share a start or a close, which waits for the other one.
 *
 * @param name - Name of the component for error messages, such as `book`.
 */
export function createLifecycle<T>(name: string, steps: LifecycleSteps<T>) {
  let running: T | undefined;
  let wasStarted = false;
  /** The newest start or close that has not ended. */
  let pending: { readonly step: () => Promise<void>; readonly ended: Promise<void> } | undefined;

  /** Returns the state of the running component. Throws a `StoreError`: `NotStarted` before a start, or `Closed`. */
  function assertStarted(): T {
    if (running !== undefined) return running;
    if (wasStarted) throw new StoreError('Closed', `the ${name} is closed`);
    throw new StoreError('NotStarted', `the ${name} is not started; call start() first`);
  }

  async function open(): Promise<void> {
    if (running !== undefined) return;
    running = await steps.open();
    wasStarted = true;
    for (const worker of steps.workers()) worker?.start();
  }

  async function end(): Promise<void> {
    if (running === undefined) return;
    await steps.close(() => {
      running = undefined;
    });
  }

  /** Runs a step after the previous one. Concurrent callers share a step. */
  function run(step: () => Promise<void>): Promise<void> {
    if (pending?.step === step) return pending.ended;
    // The caller of the previous step receives its failure.
    const result = pending === undefined ? step() : pending.ended.then(step, step);
    const ended = thenAlways(result, () => {
      if (pending?.ended === ended) pending = undefined;
    });
    pending = { step, ended };
    return ended;
  }

  const close = () => run(end);
  return { assertStarted, start: () => run(open), close, [Symbol.asyncDispose]: close };
}

/** Whether a book can serve, and the state of each of its parts. */
export interface Readiness {
  readonly ready: boolean;
  readonly checks: Readonly<Record<string, string>>;
}

/** A module of the engine that is loaded on first use. */
export interface Lazy<T> {
  /** `undefined` until the module is loaded. */
  readonly loaded: T | undefined;
  /** Loads the module, once for concurrent callers. After a failure the next call tries again. */
  load(): Promise<T>;
  /** Runs a job with the module, and loads it before if necessary. */
  use<R>(job: (loaded: T) => Promise<R>): Promise<R>;
}

/** Creates a lazy module. Books without quotes, indexing or auctions do not load the code for them. */
export function lazy<T>(create: () => Promise<T>): Lazy<T> {
  let loaded: T | undefined;
  let loading: Promise<T> | undefined;

  function load(): Promise<T> {
    loading ??= create().then(
      (value) => {
        loaded = value;
        return value;
      },
      (failure) => {
        loading = undefined;
        throw failure;
      },
    );
    return loading;
  }

  return {
    get loaded() {
      return loaded;
    },
    load,
    async use(job) {
      return job(loaded ?? (await load()));
    },
  };
}

/** A background loop. */
export interface Worker {
  /** Whether a run is in progress. */
  readonly running: boolean;
  /** Starts the loop: runs at once, or after the first interval with `runAtStart: false`. */
  start(): void;
  /** Requests a run. A request during a run causes one more run after it. Has no effect while the worker is stopped. */
  wake(): void;
  /** Stops the loop and waits for the run in progress. */
  stop(): Promise<void>;
  /** Runs once more, then stops. */
  drain(): Promise<void>;
}

export interface WorkerOptions {
  readonly clock: Clock;
  /** Milliseconds between the end of a run and the next run. Absent: the worker runs only after `wake`. */
  readonly interval?: number;
  /** Milliseconds between a failed run and the next run. Default: `interval`. */
  readonly retryDelay?: number;
  /** Whether `start` runs at once. Default: true. */
  readonly runAtStart?: boolean;
  /** Subscribes to signals that wake the worker while it is started. Returns the function that unsubscribes. */
  readonly watch?: (wake: () => void) => Cancel;
  /**
   * Does one round of work. A long run checks `isStopping` between its steps and returns early.
   *
   * @returns milliseconds until the next run, in place of `interval`.
   */
  run(isStopping: () => boolean): Promise<number | undefined>;
  /**
   * Called with the error that `run` throws. The loop continues. While runs fail, the time between two calls grows up
   * to a minute.
   */
  readonly onFailure: (failure: unknown) => void;
}

/** Shortest and longest time between two reports of runs that fail in a row, in milliseconds. */
const REPORT_PAUSE = { min: 1000, max: 60_000 };

/** Creates a background loop that never runs twice at the same time. */
export function createWorker(options: WorkerOptions): Worker {
  const { clock, interval, retryDelay = interval, runAtStart = true, onFailure } = options;
  let stopped = true;
  let stopping = false;
  let requested = false;
  let running: Promise<void> | undefined;
  let cancel: Cancel = () => {};
  let unwatch: Cancel | undefined;
  /** When a failure was reported, and for how long the failures of the next runs are not. */
  let reported = { at: 0, pause: 0 };
  let begin: ((task: () => void) => void) | undefined;

  /**
   * Starts loops in the asynchronous context in which the worker was created. They would otherwise run in the context
   * of the request that has caused the wake, such as that of `AsyncLocalStorage`.
   */
  async function serve(): Promise<void> {
    const task = await new Promise<() => void>((resolve) => {
      begin = resolve;
    });
    void serve();
    task();
  }
  void serve();

  function report(failure: unknown): void {
    if (isRecent(clock, reported.at, reported.pause)) return;
    const pause = Math.min(Math.max(2 * reported.pause, REPORT_PAUSE.min), REPORT_PAUSE.max);
    reported = { at: readMonotonic(clock), pause };
    onFailure(failure);
  }

  async function loop(): Promise<void> {
    let delay = interval;
    do {
      requested = false;
      try {
        delay = (await options.run(() => stopping)) ?? interval;
        reported.pause = 0;
      } catch (failure) {
        report(failure);
        delay = retryDelay;
        // A request during a failed run waits for the retry as well, so that a broken store is not called in a loop.
        break;
      }
    } while (requested && !stopped);
    running = undefined;
    if (!stopped && !stopping && delay !== undefined) cancel = clock.after(delay, wake);
  }

  function wake(): void {
    requested = true;
    if (stopped || running !== undefined) return;
    cancel();
    running = new Promise((resolve) => begin?.(() => resolve(loop())));
  }

  return {
    get running() {
      return running !== undefined;
    },
    start() {
      stopped = false;
      stopping = false;
      unwatch = options.watch?.(wake);
      if (runAtStart) wake();
      else if (interval !== undefined) cancel = clock.after(interval, wake);
    },
    wake,
    async stop() {
      unwatch?.();
      stopped = true;
      stopping = true;
      cancel();
      await running;
    },
    async drain() {
      unwatch?.();
      stopping = true;
      wake();
      await running;
      stopped = true;
      cancel();
    },
  };
}

import { thenAlways } from '../ports/clock.ts';
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

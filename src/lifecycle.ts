import { thenAlways } from './concurrency/then-always.ts';
import { StoreError } from './ports/store.ts';

/** What a lifecycle starts and stops. `T` is the state that exists while the book runs. */
export interface LifecycleSteps<T> {
  open(): Promise<T>;
  /** Returns the workers to start after `open`, when the book accepts work. */
  workers(): readonly ({ start(): void } | undefined)[];
  /** Stops everything. Calls `end` at the point from which the book rejects new work. */
  close(end: () => void): Promise<void>;
}

/** The start and the end of a book. */
export interface Lifecycle<T> {
  /** Returns the state of the running book. Throws a `StoreError` `Closed` if the book is not started. */
  readonly assertStarted: () => T;
  /** Starts the book, once for concurrent callers. */
  start(): Promise<void>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Creates the lifecycle of a book. A closed book can be started again. */
export function createLifecycle<T>(steps: LifecycleSteps<T>): Lifecycle<T> {
  let running: T | undefined;
  let starting: Promise<void> | undefined;

  function assertStarted(): T {
    if (running === undefined) throw new StoreError('Closed', 'the book is not started');
    return running;
  }

  async function open(): Promise<void> {
    if (running !== undefined) return;
    running = await steps.open();
    for (const worker of steps.workers()) worker?.start();
  }

  async function close(): Promise<void> {
    await starting?.catch(() => {}); // the caller of `start` receives the failure
    if (running === undefined) return;
    await steps.close(() => {
      running = undefined;
    });
  }

  return {
    assertStarted,
    start() {
      starting ??= thenAlways(open(), () => {
        starting = undefined;
      });
      return starting;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

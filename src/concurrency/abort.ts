import { type Clock, thenAlways } from '../ports/clock.ts';

/**
 * State that shows whether a result is still needed. `AbortSignal` and `ApiRequest` implement it; `ApiRequest` is
 * cheaper to read.
 */
export interface AbortState {
  readonly aborted?: boolean | undefined;
}

/** Thrown when work is skipped because its result is no longer needed. */
export class AbortedError extends Error {
  override readonly name = 'AbortedError';

  constructor() {
    super('the caller no longer needs the result');
  }
}

/**
 * Throws if the result is no longer needed: the reason of an `AbortSignal`, otherwise an `AbortedError`. Called before
 * each part of long work.
 */
export function assertNotAborted(state: AbortState | undefined): void {
  if (!state?.aborted) return;
  throw state instanceof AbortSignal ? state.reason : new AbortedError();
}

interface SharedListener {
  readonly calls: Set<() => void>;
  readonly remove: () => void;
}

const shared = new WeakMap<AbortSignal, SharedListener>();

/**
 * Calls a function when a signal is aborted. The functions of one signal share a listener: Node.js prints a warning for
 * more than ten.
 *
 * @returns A function that removes it.
 */
export function onAbort(signal: AbortSignal, call: () => void): () => void {
  const listener = shared.get(signal) ?? listen(signal);
  const own = () => call(); // the same function may be added twice
  listener.calls.add(own);
  return () => {
    if (listener.calls.delete(own) && listener.calls.size === 0 && !signal.aborted) listener.remove();
  };
}

function listen(signal: AbortSignal): SharedListener {
  const calls = new Set<() => void>();
  const callAll = () => {
    shared.delete(signal);
    for (const each of calls) each();
  };
  const remove = () => {
    shared.delete(signal);
    signal.removeEventListener('abort', callAll);
  };
  const listener = { calls, remove };
  shared.set(signal, listener);
  signal.addEventListener('abort', callAll, { once: true });
  return listener;
}

/** Counts the rows that a read takes from the store, for the rate limit. */
export interface RowMeter {
  rows: number;
}

export interface ReadOptions {
  /** Ends the read between two steps when the result is no longer needed. */
  readonly signal?: AbortState;
  /** Receives the number of rows that were read, including skipped ones. */
  readonly meter?: RowMeter;
  /** Returns the client that waits for the read. Clients take turns in queues. Default: the process itself. */
  readonly client?: () => string;
}

/** Adds rows to the meter of a read. */
export function countRows({ meter }: ReadOptions, rows: number): void {
  if (meter !== undefined) meter.rows += rows;
}

/** Maximum number of concurrent requests per queue. See docs/internals/decisions.md#d2-2. */
const MAX_PER_QUEUE = 4;

/** Thrown when a request does not finish before its deadline. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

/** Thrown when a queue is full, or has no free slot within the maximum wait. */
export class QueueFullError extends Error {
  override readonly name = 'QueueFullError';
}

export interface QueueOptions {
  /** Aborts the request, also while it waits. */
  readonly cancelled?: AbortSignal;
  /** Skips a waiting request whose caller has disconnected. */
  readonly caller?: AbortState | undefined;
  /** Maximum number of requests that wait in the queue. Default: no limit. */
  readonly maxWaiting?: number;
  /** Maximum time that the request waits in the queue, in milliseconds. Default: no limit. */
  readonly maxWait?: number;
}

/** Runs requests to systems outside of the engine: nodes, and functions of the host. */
export type DeadlineLimiter = ReturnType<typeof createDeadlineLimiter>;

interface Queue {
  running: number;
  /** In order of arrival. A request that gives up removes itself. */
  readonly waiting: Set<() => void>;
}

/** Creates a limiter. `timeout` is in milliseconds and starts with the request; a wait in the queue is additional. */
export function createDeadlineLimiter(clock: Clock, timeout: number) {
  const queues = new Map<string, Queue>();

  async function enter(name: string, options: QueueOptions): Promise<void> {
    const queue = queues.get(name);
    if (queue === undefined) queues.set(name, { running: 1, waiting: new Set() });
    else if (queue.running < MAX_PER_QUEUE) queue.running++;
    else if (queue.waiting.size >= (options.maxWaiting ?? Number.POSITIVE_INFINITY))
      throw new QueueFullError('too many requests wait in this queue');
    else await waitForSlot(queue, options);
  }

  function waitForSlot({ waiting }: Queue, { cancelled, maxWait }: QueueOptions): Promise<void> {
    return new Promise((resolve, reject) => {
      cancelled?.throwIfAborted();
      const start = () => {
        finish();
        resolve();
      };
      const giveUp = (reason: unknown) => {
        finish();
        waiting.delete(start);
        reject(reason);
      };
      const cancel = () => giveUp(cancelled?.reason);
      const finish = () => {
        cancelTimer?.();
        removeCancel?.();
      };
      const onTimeout = () => giveUp(new QueueFullError(`no free slot within ${maxWait} ms`));
      const cancelTimer = maxWait === undefined ? undefined : clock.after(maxWait, onTimeout);
      const removeCancel = cancelled && onAbort(cancelled, cancel);
      waiting.add(start);
    });
  }

  function exit(name: string): void {
    const queue = queues.get(name);
    if (queue === undefined) return;
    const [next] = queue.waiting;
    if (next !== undefined) {
      queue.waiting.delete(next);
      next();
    } else if (--queue.running === 0) queues.delete(name);
  }

  return {
    /**
     * Runs a request as soon as fewer than four requests of this queue are running. Rejects with the request's error,
     * with a `DeadlineError` after the timeout, with a `QueueFullError` if too many requests wait or after the maximum
     * wait, with an `AbortedError` if the caller has disconnected, or with the reason of `cancelled`.
     */
    async run<T>(
      queue: string,
      request: (signal: AbortSignal) => T | Promise<T>,
      options: QueueOptions = {},
    ): Promise<T> {
      const { cancelled, caller } = options;
      await enter(queue, options);
      try {
        cancelled?.throwIfAborted();
        if (caller?.aborted) throw new AbortedError();
        return await withDeadline(clock, timeout, request, cancelled);
      } finally {
        exit(queue);
      }
    },
  };
}

/**
 * Runs a request with a timeout in milliseconds. At the timeout the signal is aborted and the call rejects with a
 * `DeadlineError`.
 */
export function withDeadline<T>(
  clock: Clock,
  timeout: number,
  request: (signal: AbortSignal) => T | Promise<T>,
  cancelled?: AbortSignal,
): Promise<T> {
  const controller = new AbortController();
  return new Promise<T>((resolve, reject) => {
    const abort = (reason: unknown) => {
      finish();
      reject(reason);
      controller.abort(reason);
    };
    const cancel = () => abort(cancelled?.reason);
    const cancelTimer = clock.after(timeout, () => abort(new DeadlineError(`no response within ${timeout} ms`)));
    const finish = () => {
      cancelTimer();
      removeCancel?.();
    };
    const removeCancel = cancelled && onAbort(cancelled, cancel);
    // A result after the deadline is dropped, since the outer promise is settled.
    const result = new Promise<T>((settle) => settle(request(controller.signal)));
    thenAlways(result, finish).then(resolve, reject);
  });
}

/** Waits for a number of milliseconds, or until `stop` is aborted. */
export function sleep(clock: Clock, ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      remove();
      cancel();
      resolve();
    };
    const cancel = clock.after(ms, done);
    const remove = onAbort(stop, done);
    if (stop.aborted) done();
  });
}

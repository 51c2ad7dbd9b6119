import type { Clock } from '../ports/clock.ts';
import type { AbortState } from './abort.ts';
import { AbortedError } from './abort.ts';

/** Maximum number of concurrent requests per lane. See docs/internals/decisions.md#d2-2. */
const MAX_PER_LANE = 4;

/** Thrown when a request does not finish before its deadline. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

/** Thrown when the queue of a lane is full. */
export class QueueFullError extends Error {
  override readonly name = 'QueueFullError';
}

/** Options of a request. */
export interface LaneOptions {
  /** Aborts the request, also while it waits. */
  readonly cancelled?: AbortSignal;
  /** Skips a waiting request whose caller has disconnected. */
  readonly caller?: AbortState | undefined;
  /** Maximum number of requests that wait in the lane. Default: no limit. */
  readonly maxWaiting?: number;
  /** Maximum time that the request waits in the lane, in milliseconds. Default: no limit. */
  readonly maxWait?: number;
}

/** Runs requests to systems outside of the engine: nodes, and functions of the host. */
export interface DeadlineLimiter {
  /**
   * Runs a request as soon as fewer than four requests of this lane are running. Rejects with the request's error, with
   * a `DeadlineError` after the timeout or the maximum wait, with a `QueueFullError` if too many requests wait, with an
   * `AbortedError` if the caller has disconnected, or with the reason of `cancelled`.
   */
  run<T>(lane: string, request: (signal: AbortSignal) => T | Promise<T>, options?: LaneOptions): Promise<T>;
}

interface Lane {
  running: number;
  /** In order of arrival. A request that gives up removes itself. */
  readonly waiting: Set<() => void>;
}

/** Creates a limiter. `timeout` is in milliseconds and starts with the request; a wait in the lane is additional. */
export function createDeadlineLimiter(clock: Clock, timeout: number): DeadlineLimiter {
  const lanes = new Map<string, Lane>();

  async function enter(name: string, maxWaiting: number, maxWait: number | undefined): Promise<void> {
    const lane = lanes.get(name);
    if (lane === undefined) lanes.set(name, { running: 1, waiting: new Set() });
    else if (lane.running < MAX_PER_LANE) lane.running++;
    else if (lane.waiting.size >= maxWaiting) throw new QueueFullError('too many requests wait in this lane');
    else await queue(lane, maxWait);
  }

  function queue({ waiting }: Lane, maxWait: number | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const start = () => {
        cancelTimer?.();
        resolve();
      };
      const giveUp = () => {
        waiting.delete(start);
        reject(new DeadlineError(`no free slot within ${maxWait} ms`));
      };
      const cancelTimer = maxWait === undefined ? undefined : clock.after(maxWait, giveUp);
      waiting.add(start);
    });
  }

  function exit(name: string): void {
    const lane = lanes.get(name);
    if (lane === undefined) return;
    const [next] = lane.waiting;
    if (next !== undefined) {
      lane.waiting.delete(next);
      next();
    } else if (--lane.running === 0) lanes.delete(name);
  }

  return {
    async run(lane, request, { cancelled, caller, maxWaiting = Number.POSITIVE_INFINITY, maxWait } = {}) {
      await enter(lane, maxWaiting, maxWait);
      try {
        cancelled?.throwIfAborted();
        if (caller?.aborted) throw new AbortedError();
        return await withDeadline(clock, timeout, request, cancelled);
      } finally {
        exit(lane);
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
    const cancelTimer = clock.after(timeout, () => abort(new DeadlineError(`no answer within ${timeout} ms`)));
    const finish = () => {
      cancelTimer();
      cancelled?.removeEventListener('abort', cancel);
    };
    cancelled?.addEventListener('abort', cancel);
    // A result after the deadline is dropped, since the outer promise is settled.
    new Promise<T>((settle) => settle(request(controller.signal))).finally(finish).then(resolve, reject);
  });
}

import type { Clock } from '../ports/clock.ts';
import type { Address } from '../protocol/hex.ts';

/** Maximum number of concurrent requests per owner. See docs/internals/decisions.md#d2-2. */
const MAX_PER_OWNER = 4;

/** Thrown when a request does not finish before its deadline. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

/** Runs requests to systems outside of the engine: nodes, and functions of the host. */
export interface DeadlineLimiter {
  /**
   * Runs a request as soon as fewer than four requests for this owner are running. Rejects with the request's error,
   * with a `DeadlineError` after the timeout, or at once when `cancelled` is aborted.
   */
  run<T>(owner: Address, request: (signal: AbortSignal) => T | Promise<T>, cancelled?: AbortSignal): Promise<T>;
}

interface Lane {
  running: number;
  readonly waiting: (() => void)[];
}

/** Creates a limiter. `timeout` is in milliseconds and starts with the request; time in the queue does not count. */
export function createDeadlineLimiter(clock: Clock, timeout: number): DeadlineLimiter {
  const lanes = new Map<Address, Lane>();

  async function enter(owner: Address): Promise<void> {
    const lane = lanes.get(owner);
    if (lane === undefined) lanes.set(owner, { running: 1, waiting: [] });
    else if (lane.running < MAX_PER_OWNER) lane.running++;
    else await new Promise<void>((resolve) => lane.waiting.push(resolve));
  }

  function exit(owner: Address): void {
    const lane = lanes.get(owner);
    const next = lane?.waiting.shift();
    if (next !== undefined) next();
    else if (lane !== undefined && --lane.running === 0) lanes.delete(owner);
  }

  return {
    async run(owner, request, cancelled) {
      await enter(owner);
      try {
        cancelled?.throwIfAborted();
        return await withDeadline(clock, timeout, request, cancelled);
      } finally {
        exit(owner);
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

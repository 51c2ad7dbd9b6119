import type { Clock } from '../ports/clock.ts';
import type { Address } from '../protocol/hex.ts';

/** How many questions about one owner's orders are under way at once (decision 2.2). */
const PER_OWNER = 4;

/** A question was not answered before its deadline. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

/** Asks what lies outside of the engine: the chain, and functions of the host. */
export interface Remote {
  /**
   * Asks, as soon as less than four questions about this owner are under way. Rejects with what the question rejects
   * with, with a `DeadlineError` when it takes too long, or at once when `cancelled` is aborted.
   */
  run<T>(owner: Address, question: (signal: AbortSignal) => T | Promise<T>, cancelled?: AbortSignal): Promise<T>;
}

interface Lane {
  running: number;
  readonly waiting: (() => void)[];
}

/** @param deadline milliseconds that a question may take once it is asked; its time in the queue does not count. */
export function createDeadlineLimiter(clock: Clock, deadline: number): Remote {
  const lanes = new Map<Address, Lane>();

  async function enter(owner: Address): Promise<void> {
    const lane = lanes.get(owner);
    if (lane === undefined) lanes.set(owner, { running: 1, waiting: [] });
    else if (lane.running < PER_OWNER) lane.running++;
    else await new Promise<void>((resolve) => lane.waiting.push(resolve));
  }

  function leave(owner: Address): void {
    const lane = lanes.get(owner);
    const next = lane?.waiting.shift();
    if (next !== undefined)
      next(); // takes the place that is left
    else if (lane !== undefined && --lane.running === 0) lanes.delete(owner);
  }

  return {
    async run(owner, question, cancelled) {
      await enter(owner);
      try {
        cancelled?.throwIfAborted();
        return await withDeadline(clock, deadline, question, cancelled);
      } finally {
        leave(owner);
      }
    },
  };
}

/** Asks with a deadline, in milliseconds, at which the signal is aborted and the answer is a `DeadlineError`. */
export function withDeadline<T>(
  clock: Clock,
  deadline: number,
  question: (signal: AbortSignal) => T | Promise<T>,
  cancelled?: AbortSignal,
): Promise<T> {
  const abort = new AbortController();
  return new Promise<T>((resolve, reject) => {
    const giveUp = (reason: unknown) => {
      finish();
      reject(reason);
      abort.abort(reason);
    };
    const cancel = () => giveUp(cancelled?.reason);
    const stop = clock.after(deadline, () => giveUp(new DeadlineError(`no answer within ${deadline} ms`)));
    const finish = () => {
      stop();
      cancelled?.removeEventListener('abort', cancel);
    };
    cancelled?.addEventListener('abort', cancel);
    // Whatever is answered after the deadline is heard here, and dropped.
    new Promise<T>((answer) => answer(question(abort.signal))).finally(finish).then(resolve, reject);
  });
}

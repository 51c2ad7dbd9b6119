/** Cancels a scheduled task. A call after the task has run does nothing. */
export type Cancel = () => void;

/** The source of time. A host may supply its own; tests advance it manually. */
export interface Clock {
  /** Milliseconds since 1970. MAY step backwards, as wall clocks do. */
  now(): number;

  /**
   * Milliseconds since any fixed moment. MUST NOT step. With it, the book detects jumps of `now`: until the clock is
   * steady again, it records no expiry and deletes nothing. Default: jumps are not detected.
   */
  monotonic?(): number;

  /**
   * Runs `task` once, `ms` milliseconds from now. MUST NOT keep the process alive. `task` MUST NOT be run before
   * `after` has returned.
   */
  after(ms: number, task: () => void): Cancel;

  /**
   * Keeps the process alive until the returned function is called. A book that closes waits so for the checks of its
   * last submissions. Default: the process may end while a book closes.
   */
  hold?(): Cancel;
}

/** Milliseconds for the measurement of durations. They do not step if the clock has monotonic time. */
export function readMonotonic(clock: Clock): number {
  return clock.monotonic?.() ?? clock.now();
}

/**
 * Returns whether less than `duration` milliseconds have passed since a moment of `readMonotonic`. False if a clock
 * without monotonic time was set back since then.
 */
export function isRecent(clock: Clock, since: number, duration: number): boolean {
  const age = readMonotonic(clock) - since;
  return age >= 0 && age < duration;
}

/** Whole seconds since 1970, as `validTo` counts. */
export function seconds(clock: Clock): number {
  return Math.floor(clock.now() / 1000);
}

/** Maximum delay of a timer, in milliseconds: 24 days. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** The clock of the machine. Only `hold` keeps a process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, task) {
    // JavaScript runtimes run a task with a longer delay at once.
    const timer: unknown = setTimeout(task, Math.min(ms, MAX_DELAY_MS));
    // Node, Bun and Deno return an object; a browser returns a number and has no process to keep alive.
    if (typeof timer === 'object' && timer !== null && 'unref' in timer && typeof timer.unref === 'function') {
      timer.unref();
    }
    return () => clearTimeout(timer as ReturnType<typeof setTimeout>); // the value that setTimeout has returned
  },
  hold() {
    const timer = setInterval(() => {}, MAX_DELAY_MS);
    return () => clearInterval(timer);
  },
};

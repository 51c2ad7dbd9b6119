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

/** Runs `task` in a later tick of the event loop. */
export type Schedule = (task: () => void) => unknown;

/** The members of `MessageChannel` that are used here. Their full types differ by platform. */
interface Channel {
  readonly port1: { onmessage: (() => void) | null };
  readonly port2: { postMessage(message: null): void };
}

let schedule: Schedule | undefined;

/** Waits for the next tick of the event loop, so that pending I/O is served. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    schedule ??= immediate ?? createMessageScheduler();
    schedule(resolve);
  });
}

/** Replaces the event loop, for a simulator that orders the ticks. `undefined` restores that of the platform. */
export function setTickScheduler(scheduler: Schedule | undefined): void {
  schedule = scheduler;
}

/** `setImmediate` of Node, Bun and Deno. Read once at load time, since tests of a host may replace it later. */
const immediate: Schedule | undefined = Reflect.get(globalThis, 'setImmediate');

/** Creates a scheduler for other platforms: a message to the own process arrives after microseconds. */
function createMessageScheduler(): Schedule {
  const waiting: (() => void)[] = [];
  const { port1, port2 } = new MessageChannel() as unknown as Channel; // its types differ by platform
  port1.onmessage = () => waiting.shift()?.();
  return (task) => {
    waiting.push(task);
    port2.postMessage(null);
  };
}

/**
 * Calls `task` when a promise has settled, and settles as the promise. JavaScript runtimes settle the result of
 * `Promise.prototype.finally` after different numbers of microtasks, so the traces of a simulation would differ.
 */
export async function thenAlways<T>(promise: Promise<T>, task: () => void): Promise<T> {
  try {
    return await promise;
  } finally {
    task();
  }
}

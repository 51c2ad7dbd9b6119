/** Takes back something scheduled. Harmless when it has run already. */
export type Cancel = () => void;

/** Where time comes from. A host may supply its own; tests move it by hand. */
export interface Clock {
  /** Milliseconds since 1970. MAY step backwards, as wall clocks do. */
  now(): number;

  /**
   * Runs `task` once, `ms` milliseconds from now. MUST NOT keep the process alive. `task` MUST NOT be run before
   * `after` has returned.
   */
  after(ms: number, task: () => void): Cancel;
}

/** Whole seconds since 1970, as `validTo` counts. */
export function seconds(clock: Clock): number {
  return Math.floor(clock.now() / 1000);
}

/** The clock of the machine. Its timers never keep a process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, task) {
    const timer: unknown = setTimeout(task, ms);
    // Node, Bun and Deno answer an object; a browser answers a number, and has no process to keep alive.
    if (typeof timer === 'object' && timer !== null && 'unref' in timer && typeof timer.unref === 'function') {
      timer.unref();
    }
    return () => clearTimeout(timer as ReturnType<typeof setTimeout>); // what setTimeout has answered
  },
};

import type { Clock } from '../ports/clock.ts';

/** Smallest difference between wall and monotonic time that counts as a jump, in milliseconds. */
const MIN_JUMP = 60_000;

/**
 * Creates a watch that detects jumps of the wall clock: corrections by an operator or a time service, and suspends of
 * the machine. A jump is detected at the next call. A clock without monotonic time counts as steady.
 */
export function createClockWatch(clock: Clock) {
  let last = read();
  let steadySince = last.monotonic;
  let jumpedAt: number | undefined;

  function read(): { readonly wall: number; readonly monotonic: number } {
    const wall = clock.now();
    return { wall, monotonic: clock.monotonic?.() ?? wall };
  }

  function update(): number {
    const now = read();
    const drift = now.wall - last.wall - (now.monotonic - last.monotonic);
    if (Math.abs(drift) >= MIN_JUMP) {
      jumpedAt = now.monotonic;
      steadySince = now.monotonic;
    }
    last = now;
    return now.monotonic;
  }

  return {
    /** Returns whether the wall clock has jumped within the last `ms` milliseconds. */
    hasJumped(ms: number): boolean {
      const now = update();
      return jumpedAt !== undefined && now - jumpedAt < ms;
    },
    /** Returns whether the wall clock has been watched for `ms` milliseconds without a jump. */
    isSteady(ms: number): boolean {
      const now = update();
      return clock.monotonic === undefined || now - steadySince >= ms;
    },
  };
}

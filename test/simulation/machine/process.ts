import type { Clock } from 'intentbook';
import type { Scheduler } from './scheduler.ts';

/** Start of every simulation, in seconds since 1970. */
export const START = 1_700_000_000;

/** One life of a virtual process: it runs, pauses, and ends once. */
export interface VirtualProcess {
  readonly name: string;
  readonly clock: Clock;
  readonly isDead: boolean;
  /** The virtual time of the last step of the wall clock. */
  readonly lastStep: number;
  /** The smallest and the largest wall time since `mark`, in seconds since 1970. */
  mark(): () => readonly [earliest: number, latest: number];
  /** Steps the wall clock by `ms`. */
  step(ms: number): void;
  /** Runs a task of the process: now, after the pause, or never if the process has ended. */
  enter(task: () => void): void;
  /** Stops running tasks until `resume`. */
  pause(): void;
  resume(): void;
  /** Calls `task` when the process is killed. The returned function cancels this. */
  onEnd(task: () => void): () => void;
  /** Ends the process. Its tasks never run again. */
  kill(): void;
}

/** @param offset - Difference of its wall clock from the true time, in milliseconds. */
export function createVirtualProcess(name: string, scheduler: Scheduler, offset: number): VirtualProcess {
  const waiting: (() => void)[] = [];
  const ranges = new Set<{ low: number; high: number }>();
  const endings = new Set<() => void>();
  let lastStep = Number.NEGATIVE_INFINITY;
  let isDead = false;
  let isPaused = false;
  let skew = offset;
  const now = () => Math.floor(START * 1000 + scheduler.time + skew);

  function enter(task: () => void): void {
    if (isDead) return;
    if (isPaused || waiting.length > 0) waiting.push(task);
    else task();
  }

  /** Runs the waiting tasks, each in an own step. A task may pause or end the process again. */
  function runWaiting(): void {
    if (isPaused || isDead) return;
    waiting.shift()?.();
    if (waiting.length > 0) scheduler.after(0, runWaiting);
  }

  function widen(): void {
    for (const range of ranges) {
      range.low = Math.min(range.low, now());
      range.high = Math.max(range.high, now());
    }
  }

  return {
    name,
    clock: {
      now,
      monotonic: () => scheduler.time,
      after: (ms, task) => scheduler.after(ms, () => enter(task)),
    },
    get isDead() {
      return isDead;
    },
    get lastStep() {
      return lastStep;
    },
    mark() {
      const range = { low: now(), high: now() };
      ranges.add(range);
      return () => {
        widen();
        ranges.delete(range);
        return [Math.floor(range.low / 1000), Math.floor(range.high / 1000)];
      };
    },
    step(ms) {
      lastStep = scheduler.time;
      widen();
      skew += ms;
      widen();
    },
    enter,
    pause() {
      isPaused = true;
    },
    resume() {
      isPaused = false;
      runWaiting();
    },
    onEnd(task) {
      endings.add(task);
      return () => void endings.delete(task);
    },
    kill() {
      if (isDead) return;
      isDead = true;
      waiting.length = 0;
      for (const task of endings) task();
    },
  };
}

import type { Clock } from 'intentbook';

/** A clock that moves only when a test advances it. */
export interface ManualClock extends Clock {
  /** Advances by `ms` and runs the tasks that are due, in order, each at its own time. */
  advance(ms: number): void;
  /** Sets the time, possibly backwards, and runs no task. */
  set(now: number): void;
  /**
   * Steps the time by `ms`, as a wall clock that is corrected. Tasks keep their delays, and monotonic time its pace.
   */
  jump(ms: number): void;
  /** Number of waiting tasks. */
  readonly pending: number;
}

interface Task {
  due: number;
  readonly run: () => void;
}

/**
 * Creates a clock that moves only when a test advances it.
 *
 * @param start - Milliseconds since 1970. Default: 14 November 2023.
 */
export function manualClock(start = 1_700_000_000_000): ManualClock {
  let now = start;
  let monotonic = 0;
  const tasks = new Set<Task>();

  const nextUntil = (end: number): Task | undefined => {
    let next: Task | undefined;
    for (const task of tasks) if (task.due <= end && (next === undefined || task.due < next.due)) next = task;
    return next;
  };

  const moveTo = (time: number) => {
    monotonic += Math.max(0, time - now);
    now = time;
  };

  return {
    now: () => now,
    monotonic: () => monotonic,
    after(ms, run) {
      const task = { due: now + ms, run };
      tasks.add(task);
      return () => void tasks.delete(task);
    },
    advance(ms) {
      const end = now + ms;
      for (let task = nextUntil(end); task !== undefined; task = nextUntil(end)) {
        tasks.delete(task);
        moveTo(Math.max(now, task.due));
        task.run();
      }
      moveTo(end);
    },
    set(time) {
      now = time;
    },
    jump(ms) {
      now += ms;
      for (const task of tasks) task.due += ms;
    },
    get pending() {
      return tasks.size;
    },
  };
}

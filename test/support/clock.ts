import type { Clock } from 'intentbook';

/** A clock that moves only when a test advances it. */
export interface ManualClock extends Clock {
  /** Advances by `ms` and runs the tasks that are due, in order, each at its own time. */
  advance(ms: number): void;
  /** Sets the time, possibly backwards, and runs no task. */
  set(now: number): void;
  /** Number of waiting tasks. */
  readonly pending: number;
}

interface Task {
  readonly due: number;
  readonly run: () => void;
}

/**
 * Creates a clock that moves only when a test advances it.
 *
 * @param start - Milliseconds since 1970. Default: 14 November 2023.
 */
export function manualClock(start = 1_700_000_000_000): ManualClock {
  let now = start;
  const tasks = new Set<Task>();

  const nextUntil = (end: number): Task | undefined => {
    let next: Task | undefined;
    for (const task of tasks) if (task.due <= end && (next === undefined || task.due < next.due)) next = task;
    return next;
  };

  return {
    now: () => now,
    after(ms, run) {
      const task = { due: now + ms, run };
      tasks.add(task);
      return () => void tasks.delete(task);
    },
    advance(ms) {
      const end = now + ms;
      for (let task = nextUntil(end); task !== undefined; task = nextUntil(end)) {
        tasks.delete(task);
        now = Math.max(now, task.due);
        task.run();
      }
      now = end;
    },
    set(time) {
      now = time;
    },
    get pending() {
      return tasks.size;
    },
  };
}

import type { Clock } from 'intentbook';

/** A virtual clock. Between two tasks, everything happens that needs no time. */
export interface EventClock extends Clock {
  /** Passes milliseconds. */
  pass(ms: number): Promise<void>;
}

interface Task {
  readonly due: number;
  readonly run: () => void;
}

/** Ticks of the event loop in which the continuations of a task end. */
const TICKS = 12;

/** @param start - Milliseconds since 1970. */
export function createEventClock(start: number): EventClock {
  let now = start;
  const tasks = new Set<Task>();

  function findNext(end: number): Task | undefined {
    let next: Task | undefined;
    for (const task of tasks) if (task.due <= end && (next === undefined || task.due < next.due)) next = task;
    return next;
  }

  async function rest(): Promise<void> {
    for (let i = 0; i < TICKS; i++) await new Promise((resolve) => setImmediate(resolve));
  }

  return {
    now: () => now,
    monotonic: () => now - start,
    after(ms, run) {
      const task = { due: now + ms, run };
      tasks.add(task);
      return () => void tasks.delete(task);
    },
    async pass(ms) {
      const end = now + ms;
      await rest();
      for (let task = findNext(end); task !== undefined; task = findNext(end)) {
        tasks.delete(task);
        now = Math.max(now, task.due);
        task.run();
        await rest();
      }
      now = end;
    },
  };
}

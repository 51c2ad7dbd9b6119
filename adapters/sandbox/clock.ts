import type { Clock } from 'intentbook';

/** The clock of a sandbox: runs with the clock of the machine, and can be moved. */
export interface SandboxClock extends Clock {
  /** Moves the clock forward, in milliseconds, and runs the tasks that are due, in their order. */
  advance(ms: number): void;
  /** Runs the tasks that are due within a time, in milliseconds, without moving the clock. */
  runEarly(within: number): void;
  /** Sets the time, in milliseconds since 1970, and runs nothing. */
  set(now: number): void;
}

interface Task {
  readonly due: number;
  readonly run: () => void;
  timer: NodeJS.Timeout | undefined;
}

/** Creates a clock that shows the time of the machine until it is moved. */
export function createSandboxClock(): SandboxClock {
  let offset = 0;
  const tasks = new Set<Task>();
  const now = () => Date.now() + offset;

  function start(task: Task): void {
    clearTimeout(task.timer);
    task.timer = setTimeout(() => run(task), Math.max(0, task.due - now()));
    // Tasks of a book do not keep the process alive.
    task.timer.unref();
  }

  function run(task: Task): void {
    clearTimeout(task.timer);
    if (tasks.delete(task)) task.run();
  }

  function runUntil(time: number): void {
    const due = [...tasks].filter((task) => task.due <= time).sort((a, b) => a.due - b.due);
    for (const task of due) run(task);
  }

  function restart(): void {
    for (const task of tasks) start(task);
  }

  return {
    now,
    after(ms, task) {
      const entry: Task = { due: now() + ms, run: task, timer: undefined };
      tasks.add(entry);
      start(entry);
      return () => {
        clearTimeout(entry.timer);
        tasks.delete(entry);
      };
    },
    advance(ms) {
      offset += ms;
      runUntil(now());
      restart();
    },
    runEarly: (within) => runUntil(now() + within),
    set(time) {
      offset = time - Date.now();
      restart();
    },
  };
}

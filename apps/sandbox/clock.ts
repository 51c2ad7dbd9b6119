import type { Cancel } from 'intentbook';

interface Task {
  due: number;
  readonly delay: number;
  readonly run: () => void;
  timer: NodeJS.Timeout | undefined;
}

/** Longest delay of a timeout of a book, in milliseconds. */
const SHORT_DELAY = 15_000;

/** Creates a clock that shows the time of the machine until it is moved. */
export function createSandboxClock() {
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
    after(ms: number, task: () => void): Cancel {
      const entry: Task = { due: now() + ms, delay: ms, run: task, timer: undefined };
      tasks.add(entry);
      start(entry);
      return () => {
        clearTimeout(entry.timer);
        tasks.delete(entry);
      };
    },
    /**
     * Moves the clock forward, in milliseconds, and runs the tasks that are due, in their order. Tasks of a short
     * delay keep the time that is left: they are timeouts of requests that are running, and intervals that soon elapse
     * anyway.
     */
    advance(ms: number): void {
      offset += ms;
      for (const task of tasks) if (task.delay <= SHORT_DELAY) task.due += ms;
      runUntil(now());
      restart();
    },
    /** Runs the tasks that are due within a time, in milliseconds, without moving the clock. */
    runEarly: (within: number): void => runUntil(now() + within),
    /** Sets the time, in milliseconds since 1970, and runs nothing. */
    set(time: number): void {
      offset = time - Date.now();
      restart();
    },
  };
}

import type { Clock } from 'intentbook';
import { setTickScheduler } from '#internal';
import { createTurns, STEPS_PER_TURN } from '../machine/scheduler.ts';

/** A virtual clock. Between two tasks, everything happens that needs no time. */
export interface EventClock extends Clock {
  /** Passes milliseconds. */
  pass(ms: number): Promise<void>;
  /** Passes milliseconds in which no task runs, as while the machine is suspended. Then runs each task that is due. */
  leap(ms: number): Promise<void>;
}

interface Task {
  readonly due: number;
  readonly run: () => void;
}

/** @param start - Milliseconds since 1970. */
export function createEventClock(start: number): EventClock {
  let now = start;
  let isPassing = false;
  const tasks = new Set<Task>();
  const ticks: (() => void)[] = [];
  const turns = createTurns(STEPS_PER_TURN);
  const runTick = () => ticks.shift()?.();
  setTickScheduler((tick) => {
    ticks.push(tick);
    // Calls that are awaited while no time passes need ticks, too.
    if (!isPassing) setImmediate(runTick);
  });

  function findNext(end: number): Task | undefined {
    let next: Task | undefined;
    for (const task of tasks) if (task.due <= end && (next === undefined || task.due < next.due)) next = task;
    return next;
  }

  const clock: EventClock = {
    now: () => now,
    monotonic: () => now - start,
    after(ms, run) {
      const task = { due: now + ms, run };
      tasks.add(task);
      return () => void tasks.delete(task);
    },
    async pass(ms) {
      const end = now + ms;
      isPassing = true;
      await turns.repeat(() => {
        if (ticks.length > 0) {
          runTick();
          return true;
        }
        const task = findNext(end);
        if (task === undefined) return false;
        tasks.delete(task);
        now = Math.max(now, task.due);
        task.run();
        return true;
      });
      isPassing = false;
      now = end;
    },
    leap(ms) {
      now += ms;
      return clock.pass(0);
    },
  };
  return clock;
}

import type { Cancel } from 'intentbook';
import { setTickScheduler } from '#internal';
import type { SeededRandom } from './random.ts';

/** Orders everything that happens in a simulation: timers, completions of I/O and ticks of the event loop. */
export interface Scheduler {
  /** Virtual milliseconds since the start. Never steps. */
  readonly time: number;
  /** Number of steps so far. */
  readonly steps: number;
  /** Runs `task` after a virtual delay in milliseconds. */
  after(delay: number, task: () => void): Cancel;
  /** Advances virtual time, and runs the tasks that are due. Stops early if `isOver` returns true. */
  run(duration: number, isOver: () => boolean): Promise<void>;
  /** Returns the event loop to the platform, and runs the waiting ticks. */
  release(): Promise<void>;
}

interface Entry {
  readonly due: number;
  /** Orders entries of the same time. */
  readonly rank: number;
  task: (() => void) | undefined;
}

/** Probability that a due entry precedes a waiting tick. */
const OVERTAKE = 0.25;

/** Steps without progress of the virtual time after which a simulation counts as stuck. */
const MAX_STEPS_AT_ONE_TIME = 200_000;

/** Number of steps in one turn of the real event loop, if no step begins real work. */
export const STEPS_PER_TURN = 64;

/**
 * Creates the scheduler and takes over the ticks of the event loop. Each step is a callback of `setImmediate`, after
 * which the runtime drains the microtasks. So a step ends before the next one starts, and the seed alone decides the
 * order.
 *
 * @param isBusy - Returns whether real work of the step has not ended. Then the next step waits for it. Absent: no step
 *   begins real work.
 */
export function createScheduler(random: SeededRandom, isBusy?: () => boolean): Scheduler {
  const heap: Entry[] = [];
  const ticks: (() => void)[] = [];
  let time = 0;
  let steps = 0;
  let sequence = 0;
  setTickScheduler((task) => ticks.push(task));

  function nextStep(end: number): (() => void) | undefined {
    while (heap[0] !== undefined && heap[0].task === undefined) popEntry(heap);
    const [entry] = heap;
    const isDue = entry !== undefined && entry.due <= time;
    if (ticks.length > 0 && !(isDue && random.chance(OVERTAKE))) return ticks.shift();
    if (entry === undefined || entry.due > end) return undefined;
    popEntry(heap);
    time = Math.max(time, entry.due);
    return entry.task;
  }

  const turns = createTurns(isBusy === undefined ? STEPS_PER_TURN : 1);

  /** Runs steps until `next` returns none, with drained microtasks before each and after the last. */
  function runAll(next: () => (() => void) | undefined): Promise<void> {
    return turns.repeat(() => {
      if (isBusy?.() === true) return true;
      const step = next();
      step?.();
      return step !== undefined;
    });
  }

  return {
    get time() {
      return time;
    },
    get steps() {
      return steps;
    },
    after(delay, task) {
      // Entries of one time run in a random order, except that none overtakes an earlier one of the same rank.
      const entry: Entry = { due: time + Math.max(0, delay), rank: random.integer(0, 7) * 2 ** 32 + sequence++, task };
      pushEntry(heap, entry);
      return () => {
        entry.task = undefined;
      };
    },
    async run(duration, isOver) {
      const end = time + duration;
      let since = { time, steps };
      await runAll(() => {
        if (time > since.time) since = { time, steps };
        else if (steps - since.steps > MAX_STEPS_AT_ONE_TIME) throw new Error('the simulated program runs in a loop');
        const step = isOver() ? undefined : nextStep(end);
        if (step !== undefined) steps++;
        return step;
      });
      if (!isOver()) time = Math.max(time, end);
    },
    async release() {
      // Throttles are shared by all books of a process, and must not wait for a tick for ever.
      await runAll(() => ticks.shift());
      setTickScheduler(undefined);
    },
  };
}

/** Turns of the real event loop, in which the runtime drains the microtasks after each call. */
interface Turns {
  /** Calls `advance` until it returns false. One call of this function must end before the next one. */
  repeat(advance: () => boolean): Promise<void>;
}

/**
 * Creates the turns. Many calls in one turn save the time that a turn takes, also if the next repetition begins while
 * the turn is not over.
 */
export function createTurns(callsPerTurn: number): Turns {
  let current: (() => void) | undefined;
  let waiting = 0;

  function call(): void {
    waiting--;
    current?.();
    if (waiting === 0 && current !== undefined) schedule();
  }

  function schedule(): void {
    waiting = callsPerTurn;
    for (let i = 0; i < callsPerTurn; i++) setImmediate(call);
  }

  return {
    repeat: (advance) =>
      new Promise((resolve, reject) => {
        const end = (settle: () => void) => {
          current = undefined;
          settle();
        };
        current = () => {
          try {
            if (!advance()) end(resolve);
          } catch (failure) {
            end(() => reject(failure));
          }
        };
        if (waiting === 0) schedule();
      }),
  };
}

const precedes = (a: Entry, b: Entry) => a.due < b.due || (a.due === b.due && a.rank < b.rank);

function pushEntry(heap: Entry[], entry: Entry): void {
  let index = heap.push(entry) - 1;
  while (index > 0) {
    const parent = (index - 1) >> 1;
    const above = heap[parent];
    if (above === undefined || !precedes(entry, above)) break;
    heap[index] = above;
    index = parent;
  }
  heap[index] = entry;
}

function popEntry(heap: Entry[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let index = 0;
  for (;;) {
    const [left, right] = [heap[2 * index + 1], heap[2 * index + 2]];
    const child = right !== undefined && left !== undefined && precedes(right, left) ? 2 * index + 2 : 2 * index + 1;
    const below = heap[child];
    if (below === undefined || !precedes(below, last)) break;
    heap[index] = below;
    index = child;
  }
  heap[index] = last;
}

import type { Clock, UpstreamBlock, UpstreamClass } from 'intentbook';
import { onAbort, readMonotonic } from '#internal';
import { type CallEnd, createPause, type Pause } from './pause.ts';

/** Limits of a request budget. */
export interface BudgetLimits {
  /** Requests a second of each class. */
  readonly rates: Readonly<Record<UpstreamClass, number>>;
  /** Maximum number of requests under way, of all classes. */
  readonly concurrency: number;
}

/** Reserves a turn among processes: see `UpstreamContext.reserve`. */
export type Reserve = (name: string, interval: number) => Promise<number>;

/** Options of a wait for a turn. */
export interface TurnOptions {
  /** Maximum wait, in milliseconds. */
  readonly maxWait: number;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
  readonly reserve?: Reserve | undefined;
}

/** The right to send one request. */
export interface Turn {
  /** Ends the request. Further calls do nothing. Returns why the class is paused then. */
  end(how: CallEnd): UpstreamBlock | undefined;
}

/** The request budget of one host and key. */
export type Budget = ReturnType<typeof createBudget>;

/** The classes in the order of their precedence. */
const PRECEDENCE: readonly UpstreamClass[] = ['write', 'quote', 'read'];

/** A class that has been passed over so often is next, so that none starves. */
const MAX_PASSED = 4;

/** Maximum part of the interval that is added to it at random. */
const JITTER = 0.1;

interface Waiter {
  readonly reserve: Reserve | undefined;
  readonly start: () => void;
  readonly reject: (block: UpstreamBlock) => void;
}

interface Lane {
  readonly name: UpstreamClass;
  readonly pause: Pause;
  readonly waiting: Set<Waiter>;
  /** Minimum milliseconds between two requests. */
  interval: number;
  /** When the next request may begin, in monotonic milliseconds. */
  readyAt: number;
  /** Whether `readyAt` is reserved among processes. */
  reservation: 'none' | 'pending' | 'done';
  underWay: number;
  /** How often another class was preferred since the last request. */
  passed: number;
}

/**
 * Creates a budget. Requests of a class are evenly spaced, and the first one after a quiet time is sent at once.
 *
 * @param id - Identifies the budget among processes.
 */
export function createBudget(id: string, clock: Clock, limits: BudgetLimits, random = Math.random) {
  const lanes = PRECEDENCE.map(
    (name): Lane => ({
      name,
      pause: createPause(clock),
      waiting: new Set(),
      interval: 1000 / limits.rates[name],
      readyAt: Number.NEGATIVE_INFINITY,
      reservation: 'none',
      underWay: 0,
      passed: 0,
    }),
  );
  const byName = new Map(lanes.map((lane) => [lane.name, lane]));
  let { concurrency } = limits;
  let underWay = 0;
  let cancelTimer: (() => void) | undefined;

  const getLane = (name: UpstreamClass) => byName.get(name) as Lane; // every class has one
  const getSpacing = ({ interval }: Lane) => interval * (1 + JITTER * random());

  const getName = ({ name }: Lane) => `upstream ${id} ${name}`;

  /** Reserves the turn of the first waiter among processes. Without an answer, the spacing of this process applies. */
  function reserve(lane: Lane, call: Reserve): void {
    lane.reservation = 'pending';
    const finish = (time?: number) => {
      // The calls that waited may have ended, and a later call must not use their turn.
      lane.reservation = lane.waiting.size > 0 ? 'done' : 'none';
      if (time !== undefined) lane.readyAt = Math.max(lane.readyAt, readMonotonic(clock) + time - clock.now());
      pump();
    };
    call(getName(lane), Math.ceil(getSpacing(lane))).then(finish, () => finish());
  }

  function isReady(lane: Lane): boolean {
    const [first] = lane.waiting;
    if (first === undefined || readMonotonic(clock) < lane.readyAt) return false;
    // A quote takes seconds. The last place is kept for the other classes.
    if (lane.name === 'quote' && lane.underWay >= Math.max(1, concurrency - 1)) return false;
    if (first.reserve === undefined || lane.reservation === 'done') return true;
    if (lane.reservation === 'none') reserve(lane, first.reserve);
    return false;
  }

  function start(lane: Lane): void {
    const [first] = lane.waiting;
    lane.readyAt = readMonotonic(clock) + getSpacing(lane);
    lane.reservation = 'none';
    lane.passed = 0;
    lane.underWay++;
    underWay++;
    first?.start();
  }

  /** Starts the requests whose turn it is, and sets a timer for the next ones. */
  function pump(): void {
    cancelTimer?.();
    cancelTimer = undefined;
    while (underWay < concurrency) {
      const ready = lanes.filter(isReady);
      const next = ready.find(({ passed }) => passed >= MAX_PASSED) ?? ready[0];
      if (next === undefined) break;
      for (const lane of ready) if (lane !== next) lane.passed++;
      start(next);
    }
    const now = readMonotonic(clock);
    const times = lanes.filter(({ waiting, readyAt }) => waiting.size > 0 && readyAt > now).map((each) => each.readyAt);
    if (times.length > 0) cancelTimer = clock.after(Math.max(1, Math.ceil(Math.min(...times) - now)), pump);
  }

  function createTurn(lane: Lane, isProbe: boolean, reserve: Reserve | undefined): Turn {
    let isOpen = true;
    return {
      end(how) {
        if (!isOpen) return undefined;
        isOpen = false;
        lane.underWay--;
        underWay--;
        lane.pause.leave(isProbe, how);
        const block = lane.pause.getBlock();
        // An older call may end while the pause is probed. Its end does not reject the probe.
        if (block !== undefined && (typeof how === 'object' || isProbe)) {
          for (const each of lane.waiting) each.reject(block);
          // The other processes have their next turn after the pause. A failure leaves each to find out alone.
          if (typeof how === 'object' && how.kind === 'edge')
            reserve?.(getName(lane), Math.ceil(block.until - clock.now())).catch(() => {});
        }
        pump();
        return block;
      },
    };
  }

  function wait(lane: Lane, { maxWait, signal, reserve }: TurnOptions): Promise<Turn | UpstreamBlock> {
    const isProbe = lane.pause.enter();
    return new Promise((resolve) => {
      const leave = () => {
        lane.waiting.delete(waiter);
        if (lane.waiting.size === 0 && lane.reservation === 'done') lane.reservation = 'none';
        cancelWait();
        removeAbort?.();
      };
      const reject = (block: UpstreamBlock) => {
        leave();
        lane.pause.leave(isProbe, 'cancelled');
        resolve(block);
      };
      const rejectWith = (reason: string, delay: number) => {
        reject({ status: 'blocked', reason, until: Math.ceil(clock.now() + delay) });
      };
      const waiter: Waiter = {
        reserve,
        reject,
        start() {
          leave();
          resolve(createTurn(lane, isProbe, reserve));
        },
      };
      const cancelWait = clock.after(maxWait, () => {
        rejectWith('too many calls wait for their turn', lane.waiting.size * lane.interval);
      });
      const removeAbort = signal && onAbort(signal, () => rejectWith('the call was cancelled', 0));
      lane.waiting.add(waiter);
      if (signal?.aborted) rejectWith('the call was cancelled', 0);
      else pump();
    });
  }

  return {
    /** Waits for a turn. Returns a block while the class is paused, after the maximum wait, and on abort. */
    async acquire(name: UpstreamClass, options: TurnOptions): Promise<Turn | UpstreamBlock> {
      const lane = getLane(name);
      return lane.pause.getBlock() ?? wait(lane, options);
    },
    /** Lowers the limits to these, if they are higher. */
    restrict({ rates, concurrency: most }: BudgetLimits): void {
      for (const lane of lanes) lane.interval = Math.max(lane.interval, 1000 / rates[lane.name]);
      concurrency = Math.min(concurrency, most);
    },
    /** Returns why a class is paused. */
    getBlock: (name: UpstreamClass): UpstreamBlock | undefined => getLane(name).pause.getBlock(),
  };
}

const budgets = new WeakMap<Clock, Map<string, Budget>>();

/** Returns the budget that all books of this process share for a host and a key. The lowest limits apply. */
export function getBudget(clock: Clock, id: string, limits: BudgetLimits): Budget {
  const known = budgets.get(clock) ?? new Map<string, Budget>();
  budgets.set(clock, known);
  const shared = known.get(id);
  shared?.restrict(limits);
  const budget = shared ?? createBudget(id, clock, limits);
  known.set(id, budget);
  return budget;
}

import type { OrderBookError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { EstimateContext } from '../ports/estimator.ts';

/** What a source's answer amounts to. */
export type RaceAnswer<T> =
  | { readonly outcome: 'answered'; readonly value: T }
  /** It knows no route. */
  | { readonly outcome: 'none' }
  /** What it said makes no sense. */
  | { readonly outcome: 'invalid' }
  /** It says that nobody can do this. */
  | { readonly outcome: 'rejected'; readonly error: OrderBookError };

/** What became of asking one source. */
export type EstimatorOutcome =
  | RaceAnswer<unknown>['outcome']
  /** It threw or rejected. */
  | 'failed'
  /** The deadline came first. */
  | 'late'
  /** Whoever asked has gone. */
  | 'abandoned';

export interface RaceRunner<T> {
  readonly name: string;
  run(context: EstimateContext): Promise<RaceAnswer<T>>;
}

export interface RaceOptions<T> {
  readonly runners: readonly RaceRunner<T>[];
  readonly clock: Clock;
  /** Milliseconds that the sources are told they have. How long they do have is up to those who wait. */
  readonly timeout: number;
  /** Told once of each runner. */
  readonly observe: (source: string, outcome: EstimatorOutcome, ms: number, cause?: unknown) => void;
  /** Told once, when the race is over, unless that is at once. */
  readonly onEnd: () => void;
}

/**
 * How a race stands: every source has answered, or the last one who waited for it had no time left, or had gone, or the
 * book has ended it.
 */
export type RaceState = 'running' | 'complete' | 'late' | 'abandoned' | 'closed';

/** Several sources asked one question, side by side, for as long as somebody waits. */
export interface Race<T> {
  readonly state: RaceState;
  /** When it was started, by the clock. */
  readonly startedAt: number;
  /**
   * Waits for it, for `timeout` milliseconds at most. When nobody waits any more the race is over, and its sources are
   * told to stop.
   *
   * @param onOver told at once when the seat is over, but not when it was so from the start or is left.
   */
  subscribe(timeout: number, onOver?: (seat: RaceSubscription<T>) => void): RaceSubscription<T>;
  /** Ends it for everybody. */
  close(): void;
}

/** A place at a race, with a deadline of its own: who is in a hurry takes nothing from the others. */
export interface RaceSubscription<T> {
  /** What has been answered in the time of this seat, in the order of arrival. */
  readonly answers: readonly T[];
  readonly rejections: readonly OrderBookError[];
  /** Nothing more will come. */
  readonly over: boolean;
  /** The book has ended the race before its time. */
  readonly closed: boolean;
  /** Fulfilled at the next answer, or when the seat is over. Rejects with the signal's reason when that is aborted. */
  changed(signal?: AbortSignal): Promise<void>;
  unsubscribe(): void;
}

/** Starts a race. A source that throws, hangs or answers too late costs nobody anything but time until the deadline. */
export function startRace<T>({ runners, clock, timeout, observe, onEnd }: RaceOptions<T>): Race<T> {
  const answers: T[] = [];
  const rejections: OrderBookError[] = [];
  const seats = new Set<{ changed(): void }>();
  const controller = new AbortController();
  const running = new Set(runners.map(({ name }) => name));
  const startedAt = clock.now();
  let state: RaceState = running.size === 0 ? 'complete' : 'running';

  const elapsed = () => Math.max(0, clock.now() - startedAt);

  function end(how: Exclude<RaceState, 'running'>): void {
    if (state !== 'running') return;
    state = how;
    for (const name of running) observe(name, how === 'late' ? 'late' : 'abandoned', elapsed());
    controller.abort();
    onEnd();
    for (const seat of [...seats]) seat.changed();
  }

  async function run(runner: RaceRunner<T>): Promise<void> {
    let judged: RaceAnswer<T> | undefined;
    let cause: unknown;
    try {
      judged = await runner.run({ signal: controller.signal, timeout });
    } catch (thrown) {
      cause = thrown;
    }
    if (state !== 'running') return;
    running.delete(runner.name);
    observe(runner.name, judged?.outcome ?? 'failed', elapsed(), cause);
    if (judged?.outcome === 'answered') answers.push(judged.value);
    if (judged?.outcome === 'rejected') rejections.push(judged.error);
    if (running.size === 0) end('complete');
    else if (judged?.outcome === 'answered') for (const seat of [...seats]) seat.changed();
  }

  function join(patience: number, onOver?: (seat: RaceSubscription<T>) => void): RaceSubscription<T> {
    let over = state !== 'running';
    let seen: { readonly answers: readonly T[]; readonly rejections: readonly OrderBookError[] } = {
      answers,
      rejections,
    };
    let waiting: (() => void)[] = [];

    function wake(): void {
      const woken = waiting;
      waiting = [];
      for (const resolve of woken) resolve();
    }
    function finish(how: 'late' | 'abandoned'): void {
      if (over) return;
      over = true;
      seen = { answers: [...answers], rejections: [...rejections] };
      cancel();
      seats.delete(place);
      if (seats.size === 0) end(how);
      wake();
    }
    const place = {
      changed() {
        if (state === 'running') return wake();
        finish('abandoned');
        onOver?.(seat);
      },
    };
    const cancel = over
      ? () => {}
      : clock.after(patience, () => {
          finish('late');
          onOver?.(seat);
        });
    const seat: RaceSubscription<T> = {
      get answers() {
        return seen.answers;
      },
      get rejections() {
        return seen.rejections;
      },
      get over() {
        return over;
      },
      get closed() {
        return state === 'closed';
      },
      changed: (signal) => unlessAborted(signal, over ? undefined : (resolve) => waiting.push(resolve)),
      unsubscribe: () => finish('abandoned'),
    };
    if (!over) seats.add(place);
    return seat;
  }

  for (const runner of runners) void run(runner);
  return {
    get state() {
      return state;
    },
    startedAt,
    subscribe: join,
    close: () => end('closed'),
  };
}

/** Waits for what calls back, if for anything, or rejects with the signal's reason as soon as that is aborted. */
async function unlessAborted(signal?: AbortSignal, listen?: (resolve: () => void) => void): Promise<void> {
  signal?.throwIfAborted();
  if (listen === undefined) return;
  await new Promise<void>((resolve, reject) => {
    const abort = () => reject(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    listen(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    });
  });
}

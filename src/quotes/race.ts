import type { OrderBookError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { EstimateContext } from '../ports/estimator.ts';

/** What a source's answer amounts to. */
export type Judged<T> =
  | { readonly outcome: 'answered'; readonly value: T }
  /** It knows no route. */
  | { readonly outcome: 'none' }
  /** What it said makes no sense. */
  | { readonly outcome: 'invalid' }
  /** It says that nobody can do this. */
  | { readonly outcome: 'refused'; readonly error: OrderBookError };

/** What became of asking one source. */
export type SourceOutcome =
  | Judged<unknown>['outcome']
  /** It threw or rejected. */
  | 'failed'
  /** The deadline came first. */
  | 'late'
  /** Whoever asked has gone. */
  | 'abandoned';

export interface Runner<T> {
  readonly name: string;
  run(context: EstimateContext): Promise<Judged<T>>;
}

export interface RaceOptions<T> {
  readonly runners: readonly Runner<T>[];
  readonly clock: Clock;
  /** Milliseconds until the deadline. */
  readonly timeout: number;
  /** Told once of each runner. */
  readonly observe: (source: string, outcome: SourceOutcome, ms: number, cause?: unknown) => void;
  /** Told once, when the race is over. */
  readonly onEnd: () => void;
}

/** Several sources asked one question, side by side, until the last has answered or the deadline is there. */
export interface Race<T> {
  /** What has been answered so far, in the order of arrival. */
  readonly answers: readonly T[];
  readonly refusals: readonly OrderBookError[];
  /** Nothing more will come. */
  readonly ended: boolean;
  /**
   * Calls `onChange` after each answer and at the end. Returns how to leave. When the last one leaves, the race is
   * abandoned and its sources are told to stop.
   */
  join(onChange: () => void): () => void;
  /** Ends it for everybody. */
  abandon(): void;
}

/** Starts a race. A source that throws, hangs or answers too late costs nobody anything but time until the deadline. */
export function startRace<T>({ runners, clock, timeout, observe, onEnd }: RaceOptions<T>): Race<T> {
  const answers: T[] = [];
  const refusals: OrderBookError[] = [];
  const listeners = new Set<() => void>();
  const controller = new AbortController();
  const running = new Set<string>();
  const startedAt = clock.now();
  let ended = false;

  const elapsed = () => Math.max(0, clock.now() - startedAt);
  const changed = () => {
    for (const listener of [...listeners]) listener();
  };

  function end(outcome: 'late' | 'abandoned'): void {
    if (ended) return;
    ended = true;
    cancel();
    for (const name of running) observe(name, outcome, elapsed());
    controller.abort();
    onEnd();
    changed();
  }

  async function run(runner: Runner<T>): Promise<void> {
    let judged: Judged<T> | undefined;
    let cause: unknown;
    try {
      judged = await runner.run({ signal: controller.signal, timeout });
    } catch (thrown) {
      cause = thrown;
    }
    if (ended) return;
    running.delete(runner.name);
    observe(runner.name, judged?.outcome ?? 'failed', elapsed(), cause);
    if (judged?.outcome === 'answered') answers.push(judged.value);
    if (judged?.outcome === 'refused') refusals.push(judged.error);
    if (running.size === 0) end('late');
    else if (judged?.outcome === 'answered') changed();
  }

  const cancel = clock.after(timeout, () => end('late'));
  for (const { name } of runners) running.add(name);
  if (runners.length === 0) end('late');
  for (const runner of runners) void run(runner);

  return {
    answers,
    refusals,
    get ended() {
      return ended;
    },
    join(onChange) {
      listeners.add(onChange);
      return () => {
        listeners.delete(onChange);
        if (listeners.size === 0) end('abandoned');
      };
    },
    abandon: () => end('abandoned'),
  };
}

/** Waits for a race: for all it has, or for its first answer. Rejects with the signal's reason when that is aborted. */
export function settled(race: Race<unknown>, until: 'end' | 'first answer', signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const isOver = () => race.ended || (until === 'first answer' && race.answers.length > 0);
    const leave = race.join(() => {
      if (isOver()) finish(resolve);
    });
    const abort = () => finish(() => reject(signal?.reason));
    function finish(settle: () => void): void {
      signal?.removeEventListener('abort', abort);
      settle();
      leave();
    }
    signal?.addEventListener('abort', abort);
    if (signal?.aborted) abort();
    else if (isOver()) finish(resolve);
  });
}

/** Races that are running, by what they ask, so that the same question is not asked twice at once. */
export interface Flights {
  join<T>(question: string, start: (onEnd: () => void) => Race<T>): Race<T>;
  /** Abandons them all. */
  abandon(): void;
}

export function createFlights(): Flights {
  const flying = new Map<string, Race<unknown>>();
  return {
    join<T>(question: string, start: (onEnd: () => void) => Race<T>) {
      const known = flying.get(question) as Race<T> | undefined; // a question names the type of its answers
      if (known !== undefined) return known;
      let over = false;
      const race = start(() => {
        over = true;
        flying.delete(question);
      });
      if (!over) flying.set(question, race);
      return race;
    },
    abandon() {
      for (const race of [...flying.values()]) race.abandon();
    },
  };
}

import { collectGarbage } from './gc.ts';

/** Size of a run. */
export interface Scale {
  /** Whether to run everything once at a minimal size, as a functional check. */
  readonly tiny: boolean;
  /** Numbers of orders in the database files of the read benchmarks, in ascending order. */
  readonly orders: readonly number[];
}

/**
 * Measured values of one round of a subject. `time` is in microseconds for one operation; each benchmark defines the
 * other values.
 */
export interface Sample {
  readonly time: number;
  readonly [measure: string]: number;
}

/** One of the compared implementations. It runs in its own process. */
export interface Subject {
  /** Runs one round. Its input is prepared outside of the measured time. */
  round(): Promise<Sample>;
  /** Information for the results, such as `native` or a version. */
  readonly note?: string;
  close?(): Promise<void>;
}

/** Samples of one round by subject. They are taken one directly after the other, so that they can be compared. */
export type Round = Readonly<Record<string, Sample>>;

/** A figure that a benchmark reports: the median over all rounds. */
export interface Measure {
  readonly title: string;
  /** Computes the figure of a round. */
  compute(round: Round): number;
  /** Target of the figure. Default: none. */
  readonly target?: { readonly atMost: number } | { readonly atLeast: number };
  /** The cause of a missed target. Reported beside it. */
  readonly reason?: string;
  /** Unit of the figure. Default: none, for a ratio. */
  readonly unit?: string;
}

export interface Benchmark {
  /** Short description. */
  readonly title: string;
  /**
   * Subjects by name: the package, its baselines and its peers. A baseline is the least work that gives the same
   * result; a peer is another implementation. All are measured in the same run.
   */
  readonly subjects: Readonly<Record<string, () => Promise<Subject>>>;
  readonly measures: readonly Measure[];
  /** Number of counted rounds. Default: 15. */
  readonly rounds?: number;
}

/** Creates a benchmark. Each file in `benchmarks` exports such a function as `benchmark`. */
export type CreateBenchmark = (scale: Scale) => Benchmark;

/** Returns the sample of a subject. */
export function getSample(round: Round, subject: string): Sample {
  const sample = round[subject];
  if (sample === undefined) throw new Error(`the benchmark has no subject "${subject}"`);
  return sample;
}

/** Returns a function that divides the time of one subject by that of another. */
export function divideTimes(subject: string, other: string): (round: Round) => number {
  return (round) => getSample(round, subject).time / getSample(round, other).time;
}

/** Returns a function that reads another measured value of a subject. */
export function readMeasured(subject: string, measure: string): (round: Round) => number {
  return (round) => getSample(round, subject)[measure] ?? Number.NaN;
}

export interface MeasureTimeOptions<Prepared, Outcome> {
  /**
   * Throws if the outcome of a repetition is not that of the complete work. Runs outside of the measured time. It must
   * read little, because it changes the caches of the processor: compare `checks.ts`.
   */
  readonly check: (outcome: Outcome, prepared: Prepared) => void;
  /** Number of times that the work is run. Default: 1. */
  readonly repetitions?: number;
  /** Prepares the input of one repetition, outside of the measured time. */
  readonly prepare?: () => Prepared;
}

/**
 * Measures the time of `work` for one of its operations. The result is the median of several repetitions: short ones
 * are rarely interrupted by other programs, long ones often are.
 */
export async function measureTime<Outcome, Prepared = void>(
  operations: number,
  work: (prepared: Prepared) => Outcome | Promise<Outcome>,
  { check, repetitions = 1, prepare }: MeasureTimeOptions<Prepared, Outcome>,
): Promise<Sample> {
  const prepared = Array.from({ length: repetitions }, () => prepare?.() as Prepared); // undefined without `prepare`
  const figures: number[] = [];
  collectGarbage();
  for (const each of prepared) {
    const start = performance.now();
    const result = work(each);
    const outcome = result instanceof Promise ? await result : result;
    figures.push(((performance.now() - start) * 1000) / operations);
    check(outcome, each);
  }
  return { time: quantile(figures, 0.5) };
}

/** Returns a quantile. @param share - 0.5 for the median. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const below = sorted[Math.floor(at)] ?? Number.NaN;
  const above = sorted[Math.ceil(at)] ?? Number.NaN;
  return below + (above - below) * (at - Math.floor(at));
}

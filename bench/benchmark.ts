import { collectGarbage } from './gc.ts';

/** How large a run is. */
export interface Scale {
  /** Everything once, at a size that shows no more than that it works. */
  readonly tiny: boolean;
  /** How many orders there are in the files that reads are measured on, the largest last. */
  readonly orders: readonly number[];
}

/**
 * What one round of a subject has measured. `time` is microseconds for one operation; what else there is, each trial
 * says.
 */
export interface Sample {
  readonly time: number;
  readonly [measure: string]: number;
}

/** One of those that a trial compares. It lives in a process of its own. */
export interface Subject {
  /** Does some of what is measured. What a round needs is prepared outside of the measured time. */
  round(): Promise<Sample>;
  /** What it used, for the record: `native`, a version. */
  readonly note?: string;
  close?(): Promise<void>;
}

/** The samples of one round, by subject. They were taken one right after the other, so that they can be compared. */
export type Round = Readonly<Record<string, Sample>>;

/** What a trial shows: a figure of each round, of which the median counts. */
export interface Measure {
  readonly title: string;
  of(round: Round): number;
  /** What the figure is to keep. Absent: it is told for the record. */
  readonly bar?: { readonly atMost: number } | { readonly atLeast: number };
  /** What the figure counts. Absent: it is a ratio. */
  readonly unit?: string;
}

export interface Trial {
  /** What is measured, in a few words. */
  readonly title: string;
  /** By name. The subject itself, its peers, its limits. */
  readonly subjects: Readonly<Record<string, () => Promise<Subject>>>;
  readonly measures: readonly Measure[];
  /** How many rounds count. Default 15. */
  readonly rounds?: number;
}

/** Each file of `trials` exports one of these under the name `trial`. */
export type MakeTrial = (scale: Scale) => Trial;

/** The sample of a subject that a trial has. */
export function sampleOf(round: Round, subject: string): Sample {
  const sample = round[subject];
  if (sample === undefined) throw new Error(`there is no subject "${subject}" in this trial`);
  return sample;
}

/** How long an operation takes one subject, by what it takes another. */
export function times(subject: string, other: string): (round: Round) => number {
  return (round) => sampleOf(round, subject).time / sampleOf(round, other).time;
}

/** Something besides the time that a subject has measured. */
export function told(subject: string, measure: string): (round: Round) => number {
  return (round) => sampleOf(round, subject)[measure] ?? Number.NaN;
}

export interface TimedOptions<T> {
  /** How often the work is done. */
  readonly pieces: number;
  /** Makes what one piece of work is done on, outside of the measured time. */
  readonly prepare?: () => T;
}

/**
 * Measures how long `work` takes, for one of its operations. It is done in several pieces, and their median counts: when
 * the machine has others to serve, short pieces of work are mostly left alone, long ones never are.
 */
export async function timed<T = void>(
  operations: number,
  work: (prepared: T) => unknown,
  { pieces, prepare }: TimedOptions<T> = { pieces: 1 },
): Promise<Sample> {
  const prepared = Array.from({ length: pieces }, () => prepare?.() as T); // without `prepare` there is nothing to make
  const figures: number[] = [];
  collectGarbage();
  for (const each of prepared) {
    const start = performance.now();
    const result = work(each);
    if (result instanceof Promise) await result;
    figures.push(((performance.now() - start) * 1000) / operations);
  }
  return { time: quantile(figures, 0.5) };
}

/** @param share 0.5 for the median. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const below = sorted[Math.floor(at)] ?? Number.NaN;
  const above = sorted[Math.ceil(at)] ?? Number.NaN;
  return below + (above - below) * (at - Math.floor(at));
}

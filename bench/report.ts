import { readFileSync, writeFileSync } from 'node:fs';
import type { Measure, Round, Trial } from './benchmark.ts';
import { quantile } from './benchmark.ts';
import { chart } from './chart.ts';
import type { Outcome } from './runner.ts';

/** A figure over all rounds: half of the rounds lie between `low` and `high`. */
export interface Figure {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

export interface ShownMeasure extends Figure {
  readonly title: string;
  readonly unit?: string;
  readonly bar?: Measure['bar'];
}

/** What a subject has measured of itself, by measure; `time` in microseconds for one operation. */
export interface ShownSubject {
  readonly note?: string;
  readonly measured: Readonly<Record<string, Figure>>;
}

export interface Result {
  readonly title: string;
  /** The day it was measured. */
  readonly date: string;
  readonly machine: string;
  readonly rounds: number;
  readonly measures: readonly ShownMeasure[];
  readonly subjects: Readonly<Record<string, ShownSubject>>;
}

/** Results by the name of their trial. */
export type Report = Readonly<Record<string, Result>>;

export function resultOf(trial: Trial, { rounds, notes }: Outcome, machine: string): Result {
  const measures = trial.measures.map(({ title, of, bar, unit }) => ({
    title,
    ...figure(rounds.map(of)),
    ...(bar === undefined ? {} : { bar }),
    ...(unit === undefined ? {} : { unit }),
  }));
  const subjects = Object.keys(trial.subjects).map((name) => [name, subjectOf(name, rounds, notes[name])]);
  return {
    title: trial.title,
    date: new Date().toISOString().slice(0, 10),
    machine,
    rounds: rounds.length,
    measures,
    subjects: Object.fromEntries(subjects),
  };
}

function subjectOf(name: string, rounds: readonly Round[], note: string | undefined): ShownSubject {
  const samples = rounds.flatMap((round) => round[name] ?? []);
  const measured = Object.keys(samples[0] ?? {}).map((measure) => [
    measure,
    figure(samples.map((sample) => sample[measure] ?? Number.NaN)),
  ]);
  return { ...(note === undefined ? {} : { note }), measured: Object.fromEntries(measured) };
}

function figure(values: readonly number[]): Figure {
  return {
    median: short(quantile(values, 0.5)),
    low: short(quantile(values, 0.25)),
    high: short(quantile(values, 0.75)),
  };
}

/** More digits would claim more than was measured. */
function short(value: number): number {
  return Number(value.toPrecision(4));
}

/** A report with one more result, trials in the order of their names. */
export function withResult(report: Report, name: string, result: Result): Report {
  const entries = Object.entries({ ...report, [name]: result });
  return Object.fromEntries(entries.sort(([a], [b]) => a.localeCompare(b)));
}

/** Whether a figure keeps its bar; `undefined` where there is none. */
function keeps({ median, bar }: ShownMeasure): boolean | undefined {
  if (bar === undefined) return undefined;
  return 'atMost' in bar ? median <= bar.atMost : median >= bar.atLeast;
}

function shownBar({ bar, unit = '' }: ShownMeasure): string {
  if (bar === undefined) return '';
  return 'atMost' in bar ? `≤ ${bar.atMost}${unit}` : `≥ ${bar.atLeast}${unit}`;
}

function shown(value: number, unit = ''): string {
  const digits = Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0;
  return `${value.toFixed(digits)}${unit}`;
}

/** A result for a terminal. */
export function consoleTable(name: string, { title, rounds, measures, subjects }: Result): string {
  const ratios = measures.map((measure) => {
    const { median, low, high, unit } = measure;
    const indexedBlock = { true: '✓', false: '✗', undefined: ' ' }[`${keeps(measure)}`];
    const range = `${shown(low)} … ${shown(high)}`;
    return `  ${indexedBlock} ${measure.title.padEnd(66)} ${shown(median, unit).padStart(9)}  ${range.padEnd(17)} ${shownBar(measure)}`;
  });
  const absolutes = Object.entries(subjects).map(([subject, { note, measured }]) => {
    const figures = Object.entries(measured).map(([measure, { median }]) =>
      measure === 'time' ? `${shown(median)} µs` : `${measure} ${shown(median)}`,
    );
    return `    ${subject.padEnd(34)} ${figures.join(', ')}${note === undefined ? '' : ` (${note})`}`;
  });
  return [`\n${name}: ${title} (medians of ${rounds} rounds)`, ...ratios, ...absolutes].join('\n');
}

const BLOCK = /(<!-- bench:begin -->\n)[\s\S]*?(<!-- bench:end -->)/;

/** The ratios that the README shows: a measure by its benchmark and title, and its label. */
const HIGHLIGHTS = [
  {
    benchmark: 'verify',
    title: 'viem ÷ full check, native',
    label: 'Check of a signature: time of viem ÷ time of intentbook (native backend)',
  },
  {
    benchmark: 'submit',
    title: 'verified by viem, a commit each ÷ 256 at once',
    label: 'Durable submission: viem and a commit per order ÷ intentbook with 256 concurrent orders',
  },
  {
    benchmark: 'by-uids',
    title: 'cold of 1M ÷ the bare SELECT',
    label: '`by_uids` of 128 among 1,000,000 orders, uncached ÷ the SQL statement alone',
  },
  {
    benchmark: 'backfill',
    title: 'backfill ÷ viem’s decoding and an insert',
    label: 'Indexing of old blocks ÷ decoding with viem and a bulk insert',
  },
  {
    benchmark: 'http',
    title: 'GET, node:http: share of what the bare host answers in a second',
    label: 'Requests per second of `GET` on node:http ÷ those of a bare handler',
  },
] as const;

/** Returns a text with the content between its benchmark markers replaced. */
function withContent(text: string, lines: readonly string[]): string {
  if (!BLOCK.test(text)) throw new Error('the page must have the markers bench:begin and bench:end');
  const content = ['', ...lines, '', ''].join('\n');
  return text.replace(BLOCK, (_, begin: string, end: string) => `${begin}${content}${end}`);
}

/** Returns dates and machines of all results. */
function measuredOn(report: Report): string {
  const results = Object.values(report);
  const machines = [...new Set(results.map(({ machine }) => machine))];
  const dates = [...new Set(results.map(({ date }) => date))].sort();
  return `Measured on ${dates.join(' and ')}: ${machines.join('; and on ')}.`;
}

/** Returns the README with its five ratios. */
export function withHighlights(readme: string, report: Report): string {
  const rows = HIGHLIGHTS.map(({ benchmark, title, label }) => {
    const measure = report[benchmark]?.measures.find((each) => each.title === title);
    if (measure === undefined) throw new Error(`the benchmark ${benchmark} must have the measure "${title}"`);
    const range = `${shown(measure.low)} … ${shown(measure.high)}`;
    return `| ${label} | ${shown(measure.median, measure.unit)} | ${range} |`;
  });
  return withContent(readme, ['| ratio | median | half of the rounds |', '|---|---|---|', ...rows]);
}

/** Returns the page of benchmarks with the table of all measures and the chart. */
export function withMeasures(page: string, report: Report): string {
  const rows = Object.entries(report).flatMap(([name, { measures }]) =>
    measures.map((measure) => {
      const range = `${shown(measure.low)} … ${shown(measure.high)}`;
      const missed = keeps(measure) === false ? ' (missed)' : '';
      const bar = `${shownBar(measure)}${missed}`;
      return `| ${name} | ${measure.title} | ${shown(measure.median, measure.unit)} | ${range} | ${bar} |`;
    }),
  );
  return withContent(page, [
    measuredOn(report),
    '',
    '| benchmark | ratio or value | median | half of the rounds | limit |',
    '|---|---|---|---|---|',
    ...rows,
    '',
    '![Duration of operations beside their peers and limits](benchmarks.svg)',
  ]);
}

/** Writes a report as data, into the README and the page of benchmarks, and as a chart. */
export function writeReport(root: URL, kept: URL, report: Report): void {
  writeFileSync(kept, `${JSON.stringify(report, null, 2)}\n`);
  const readme = new URL('README.md', root);
  writeFileSync(readme, withHighlights(readFileSync(readme, 'utf8'), report));
  const page = new URL('docs/internals/benchmarks.md', root);
  writeFileSync(page, withMeasures(readFileSync(page, 'utf8'), report));
  writeFileSync(new URL('docs/internals/benchmarks.svg', root), chart(report));
}

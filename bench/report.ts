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

/** The README's block of figures. */
export function readmeBlock(report: Report): string {
  const results = Object.entries(report);
  const machines = [...new Set(results.map(([, { machine }]) => machine))];
  const dates = [...new Set(results.map(([, { date }]) => date))].sort();
  const rows = results.flatMap(([name, { measures }]) =>
    measures.map((measure) => {
      const range = `${shown(measure.low)} … ${shown(measure.high)}`;
      const missed = keeps(measure) === false ? ' (missed)' : '';
      const bar = `${shownBar(measure)}${missed}`;
      return `| ${name} | ${measure.title} | ${shown(measure.median, measure.unit)} | ${range} | ${bar} |`;
    }),
  );
  return [
    '',
    `Measured on ${dates.join(' and ')}: ${machines.join('; and on ')}.`,
    '',
    '| trial | what is compared | median | half of the rounds | bar |',
    '|---|---|---|---|---|',
    ...rows,
    '',
    '![How long operations take, beside their peers and limits](docs/bench.svg)',
    '',
    '',
  ].join('\n');
}

/** The README with its block of figures. */
export function withBlock(readme: string, report: Report): string {
  if (!BLOCK.test(readme)) throw new Error('the README has no place for the figures');
  return readme.replace(BLOCK, (_, begin: string, end: string) => `${begin}${readmeBlock(report)}${end}`);
}

/** Writes what was measured: as data, into the README, and as a chart. */
export function writeReport(root: URL, kept: URL, report: Report): void {
  writeFileSync(kept, `${JSON.stringify(report, null, 2)}\n`);
  const readme = new URL('README.md', root);
  writeFileSync(readme, withBlock(readFileSync(readme, 'utf8'), report));
  writeFileSync(new URL('docs/bench.svg', root), chart(report));
}

import { readFileSync, writeFileSync } from 'node:fs';
import type { Benchmark, Measure, Round } from './benchmark.ts';
import { quantile } from './benchmark.ts';
import { chart } from './chart.ts';
import type { BenchmarkRun } from './runner.ts';
import { formatSpeed } from './speed.ts';

/** Median of a value over all rounds. Half of the rounds lie between `low` and `high`. */
export interface Figure {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

export interface ReportedMeasure extends Figure {
  readonly title: string;
  readonly unit?: string;
  readonly target?: Measure['target'];
  readonly reason?: string;
}

/** Measured values of a subject by name; `time` in microseconds for one operation. */
export interface ReportedSubject {
  readonly note?: string;
  readonly measured: Readonly<Record<string, Figure>>;
}

export interface Result {
  readonly title: string;
  /** Date of the measurement. */
  readonly date: string;
  readonly machine: string;
  /** Percentage of processor time that other programs used before the run. Absent if the machine was quiet. */
  readonly busy?: number;
  readonly rounds: number;
  readonly measures: readonly ReportedMeasure[];
  readonly subjects: Readonly<Record<string, ReportedSubject>>;
}

/** Results by the name of their benchmark. */
export type Report = Readonly<Record<string, Result>>;

export function toResult(
  benchmark: Benchmark,
  { rounds, notes }: BenchmarkRun,
  machine: string,
  busy?: number,
): Result {
  const measures = benchmark.measures.map(({ title, compute, target, unit, reason }) => ({
    title,
    ...toFigure(rounds.map(compute)),
    ...(target === undefined ? {} : { target }),
    ...(unit === undefined ? {} : { unit }),
    ...(reason === undefined ? {} : { reason }),
  }));
  const subjects = Object.keys(benchmark.subjects).map((name) => [name, toSubject(name, rounds, notes[name])]);
  return {
    title: benchmark.title,
    date: new Date().toISOString().slice(0, 10),
    machine,
    ...(busy === undefined ? {} : { busy }),
    rounds: rounds.length,
    measures,
    subjects: Object.fromEntries(subjects),
  };
}

function toSubject(name: string, rounds: readonly Round[], note: string | undefined): ReportedSubject {
  const samples = rounds.flatMap((round) => round[name] ?? []);
  const measured = Object.keys(samples[0] ?? {}).map((measure) => [
    measure,
    toFigure(samples.map((sample) => sample[measure] ?? Number.NaN)),
  ]);
  return { ...(note === undefined ? {} : { note }), measured: Object.fromEntries(measured) };
}

function toFigure(values: readonly number[]): Figure {
  return {
    median: roundValue(quantile(values, 0.5)),
    low: roundValue(quantile(values, 0.25)),
    high: roundValue(quantile(values, 0.75)),
  };
}

/** Rounds to the digits that the measurement supports. */
function roundValue(value: number): number {
  return Number(value.toPrecision(4));
}

/** Adds a result to a report, sorted by name. */
export function addResult(report: Report, name: string, result: Result): Report {
  const entries = Object.entries({ ...report, [name]: result });
  return Object.fromEntries(entries.sort(([a], [b]) => a.localeCompare(b)));
}

/**
 * Returns whether a figure meets its target, or undefined without a target. It misses the target if all values of the
 * middle half of the rounds do.
 */
function meetsTarget({ low, high, target }: ReportedMeasure): boolean | undefined {
  if (target === undefined) return undefined;
  return 'atMost' in target ? low <= target.atMost : high >= target.atLeast;
}

function formatTarget({ target, unit = '' }: ReportedMeasure): string {
  if (target === undefined) return '';
  return 'atMost' in target ? `≤ ${target.atMost}${unit}` : `≥ ${target.atLeast}${unit}`;
}

function formatValue(value: number, unit = ''): string {
  const digits = Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0;
  return `${value.toFixed(digits)}${unit}`;
}

/** Formats a result for a terminal. */
export function formatResult(name: string, { title, rounds, measures, subjects }: Result): string {
  const ratios = measures.map((measure) => {
    const { median, low, high, unit } = measure;
    const symbol = { true: '✓', false: '✗', undefined: ' ' }[`${meetsTarget(measure)}`];
    const range = `${formatValue(low)} … ${formatValue(high)}`.padEnd(17);
    const value = formatValue(median, unit).padStart(9);
    return `  ${symbol} ${measure.title.padEnd(66)} ${value}  ${range} ${formatTarget(measure)}`;
  });
  const absolutes = Object.entries(subjects).map(([subject, { note, measured }]) => {
    const figures = Object.entries(measured).map(([measure, { median }]) =>
      measure === 'time' ? `${formatValue(median)} µs` : `${measure} ${formatValue(median)}`,
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
    label: 'Check of a signature, native backend: times as fast as viem',
  },
  {
    benchmark: 'submit',
    title: 'viem, one commit per order ÷ 256 concurrent',
    label: 'Durable submission of 256 concurrent orders: times as fast as viem with one commit per order',
  },
  {
    benchmark: 'by-uids',
    title: 'uncached, 1M orders ÷ SQL statement',
    label:
      'Response of `POST /api/v1/orders/by_uids` with 128 of 1,000,000 orders, uncached: times as long as the SQL statement alone',
  },
  {
    benchmark: 'backfill',
    title: 'backfill ÷ viem decoding and bulk insert',
    label: 'Indexing of old blocks: times as long as decoding with viem and a bulk insert',
  },
  {
    benchmark: 'http',
    title: 'GET, node:http: requests per second ÷ those of a bare handler',
    label: '`GET` over node:http: share of the requests per second of a handler that sends a prepared text',
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
  const marked = Object.entries(report).flatMap(([name, { busy }]) =>
    busy === undefined ? [] : [`${name} (${busy} %)`],
  );
  const mark = marked.length === 0 ? '' : ` Other programs used processor time during ${marked.join(', ')}.`;
  return `Measured on ${dates.join(' and ')}: ${machines.join('; and on ')}.${mark}`;
}

/** Returns whether a higher or a lower figure is better, which its target determines. */
function formatBetter({ title, target }: ReportedMeasure): 'higher' | 'lower' {
  if (target === undefined) throw new Error(`the measure "${title}" must have a target`);
  return 'atMost' in target ? 'lower' : 'higher';
}

/** Returns the README with its five ratios. */
export function withHighlights(readme: string, report: Report): string {
  const rows = HIGHLIGHTS.map(({ benchmark, title, label }) => {
    const measure = report[benchmark]?.measures.find((each) => each.title === title);
    if (measure === undefined) throw new Error(`the benchmark ${benchmark} must have the measure "${title}"`);
    const range = `${formatValue(measure.low)} … ${formatValue(measure.high)}`;
    return `| ${label} | ${formatBetter(measure)} | ${formatValue(measure.median, measure.unit)} | ${range} |`;
  });
  return withContent(readme, [
    '| comparison | better | median | range of the middle half of all rounds |',
    '|---|---|---|---|',
    ...rows,
  ]);
}

/** Returns the page of benchmarks with the table of all measures and the chart. */
export function withMeasures(page: string, report: Report): string {
  const rows = Object.entries(report).flatMap(([name, { measures }]) =>
    measures.map((measure) => {
      const range = `${formatValue(measure.low)} … ${formatValue(measure.high)}`;
      const missed = meetsTarget(measure) === false ? ' (missed)' : '';
      const target = `${formatTarget(measure)}${missed}`;
      return `| ${name} | ${measure.title} | ${formatValue(measure.median, measure.unit)} | ${range} | ${target} |`;
    }),
  );
  const missed = Object.entries(report).flatMap(([name, { measures }]) => formatMissed(name, measures));
  return withContent(page, [
    measuredOn(report),
    '',
    '| benchmark | ratio or value | median | range of the middle half of all rounds | target |',
    '|---|---|---|---|---|',
    ...rows,
    '',
    'A target is missed if the values of the middle half of the rounds all miss it.',
    '',
    ...(missed.length === 0 ? [] : ['| benchmark | missed target | reason |', '|---|---|---|', ...missed, '']),
    '![Duration of operations beside their baselines and peers](benchmarks.svg)',
  ]);
}

/** Returns one row for each reason of missed targets. */
function formatMissed(name: string, measures: readonly ReportedMeasure[]): string[] {
  const titles = new Map<string, string[]>();
  for (const measure of measures) {
    if (meetsTarget(measure) !== false) continue;
    const { title, reason = 'not known' } = measure;
    titles.set(reason, [...(titles.get(reason) ?? []), title]);
  }
  return [...titles].map(([reason, missed]) => `| ${name} | ${missed.join('<br>')} | ${reason} |`);
}

/** Returns the page "Speed" with its table. */
export function withSpeed(page: string, report: Report): string {
  return withContent(page, [measuredOn(report), '', ...formatSpeed(report)]);
}

/** Writes a report as data, into the README and the pages with figures, and as a chart. */
export function writeReport(root: URL, file: URL, report: Report): void {
  writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`);
  const readme = new URL('README.md', root);
  writeFileSync(readme, withHighlights(readFileSync(readme, 'utf8'), report));
  const page = new URL('docs/internals/benchmarks.md', root);
  writeFileSync(page, withMeasures(readFileSync(page, 'utf8'), report));
  const speed = new URL('docs/reference/speed.md', root);
  writeFileSync(speed, withSpeed(readFileSync(speed, 'utf8'), report));
  writeFileSync(new URL('docs/internals/benchmarks.svg', root), chart(report));
}

import type { Report } from './report.ts';

/** A measured value of a subject. */
interface Source {
  readonly benchmark: string;
  readonly subject: string;
  /** Default: `time`, in microseconds. */
  readonly measure?: string;
}

/** A row of the page: one figure of the package, of its baseline and of its peer. */
interface Row {
  /** The question that this row and the next ones answer. */
  readonly question?: string;
  readonly label: string;
  readonly own: Source;
  readonly baseline?: Source & { readonly name: string };
  readonly peer?: Source & { readonly name: string };
  /** Converts a measured value to the figure. */
  readonly convert: (value: number) => number;
}

const perSecond = (time: number) => 1e6 / time;
/** Orders per second of requests for 128 orders. */
const ordersPerSecond = (time: number) => 128 * perSecond(time);
/** Seconds for a million operations: the same number as microseconds for one. */
const keep = (value: number) => value;

const verify = (subject: string): Source => ({ benchmark: 'verify', subject });
const submit = (subject: string, measure = 'time'): Source => ({ benchmark: 'submit', subject, measure });
const http = (subject: string, measure = 'time'): Source => ({ benchmark: 'http', subject, measure });

const latency = (subject: string): Source => ({ benchmark: 'latency', subject, measure: 'ms at p99' });

const ROWS: readonly Row[] = [
  {
    question: 'How many orders per second?',
    label: 'Verified, one core, native backend',
    own: verify('native'),
    baseline: { ...verify('recovery only, native'), name: 'recovery only' },
    peer: { ...verify('viem'), name: 'viem' },
    convert: perSecond,
  },
  {
    label: 'Verified, one core, default backend',
    own: verify('default backend'),
    baseline: { ...verify('recovery only, native'), name: 'recovery only, native' },
    peer: { ...verify('viem'), name: 'viem' },
    convert: perSecond,
  },
  {
    label: 'Verified, one core, WebAssembly',
    own: verify('wasm'),
    baseline: { ...verify('recovery only, WebAssembly'), name: 'recovery only' },
    peer: { ...verify('viem'), name: 'viem' },
    convert: perSecond,
  },
  {
    label: 'Verified, two workers, native backend',
    own: verify('recoverMany, 2 workers'),
    baseline: { ...verify('recovery only, 2 threads'), name: 'recovery of one signature, in 2 threads' },
    convert: perSecond,
  },
  {
    label: 'Stored durably, 256 concurrent',
    own: submit('256 concurrent, write thread'),
    baseline: { ...submit('recovery only, one commit per 128'), name: 'recovery, one commit per 128' },
    peer: { ...submit('viem, one commit per order'), name: 'viem, one commit per order' },
    convert: perSecond,
  },
  {
    label: 'The same without a write thread',
    own: submit('256 concurrent'),
    baseline: { ...submit('recovery only, one commit per 128'), name: 'recovery, one commit per 128' },
    convert: perSecond,
  },
  {
    label: 'Read one by one over HTTP',
    own: http('node:http'),
    baseline: { ...http('bare node:http'), name: 'bare node:http, same bytes' },
    convert: perSecond,
  },
  {
    label: 'Read over HTTP, `by_uids` of 128',
    own: http('node:http', 'by_uids'),
    baseline: { ...http('bare node:http', 'by_uids'), name: 'bare node:http, same bytes' },
    convert: ordersPerSecond,
  },
  {
    label: 'Read from a million in SQLite, `by_uids` of 128, uncached',
    own: { benchmark: 'by-uids', subject: 'uncached, 1M' },
    baseline: { benchmark: 'by-uids', subject: 'SQL statement, 1M', name: 'SQL statement' },
    convert: ordersPerSecond,
  },
  {
    label: 'Chain events indexed',
    own: { benchmark: 'backfill', subject: 'intentbook' },
    peer: { benchmark: 'backfill', subject: 'viem and bulk insert', name: 'viem and bulk insert' },
    convert: perSecond,
  },
  {
    question: 'How long does a caller wait, in ms?',
    label: 'Read beside submissions at 70 % of the maximum, 99th percentile',
    own: latency('reads, write thread'),
    convert: keep,
  },
  { label: 'The same without a write thread', own: latency('reads, no thread'), convert: keep },
  {
    label: 'Submission, 256 concurrent, median',
    own: submit('256 concurrent, write thread', 'ms at p50'),
    convert: keep,
  },
  { label: 'The same, 99th percentile', own: submit('256 concurrent, write thread', 'ms at p99'), convert: keep },
  {
    label: 'Commit to subscriber, 1,000 subscribers, 99th percentile',
    own: latency('stream'),
    convert: keep,
  },
  {
    label: 'Commit to subscriber, 10,000 subscribers, 99th percentile',
    own: latency('stream, 10,000 subscribers'),
    convert: keep,
  },
  {
    label: 'Trade to webhook at 100 fills a second, median',
    own: { benchmark: 'webhook', subject: 'webhook', measure: 'ms at p50' },
    convert: keep,
  },
  {
    label: 'The same, 99th percentile',
    own: { benchmark: 'webhook', subject: 'webhook', measure: 'ms at p99' },
    convert: keep,
  },
  {
    label: 'First order in a new process',
    own: { benchmark: 'cold-start', subject: 'intentbook' },
    peer: { benchmark: 'cold-start', subject: 'import of fastify and viem', name: 'import of fastify and viem' },
    convert: (time) => time / 1000,
  },
  {
    question: 'What does a million orders cost?',
    label: 'CPU seconds to verify them',
    own: verify('native'),
    baseline: { ...verify('recovery only, native'), name: 'recovery only' },
    peer: { ...verify('viem'), name: 'viem' },
    convert: keep,
  },
  {
    label: 'Resident memory after a million reads of them, in MB',
    own: { benchmark: 'memory', subject: 'by_uids of 128', measure: 'resident MB' },
    convert: keep,
  },
  {
    question: 'What does a small container do, with half a core and 192 MiB?',
    label: 'Orders stored per CPU second',
    own: { benchmark: 'container', subject: 'small container' },
    baseline: { benchmark: 'container', subject: 'whole machine', name: 'whole machine' },
    convert: perSecond,
  },
  {
    label: 'Orders read per CPU second, `by_uids` of 128',
    own: { benchmark: 'container', subject: 'small container', measure: 'by_uids' },
    baseline: { benchmark: 'container', subject: 'whole machine', measure: 'by_uids', name: 'whole machine' },
    convert: ordersPerSecond,
  },
  {
    label: 'Longest stall under full load, in ms',
    own: { benchmark: 'container', subject: 'small container', measure: 'ms of stall' },
    convert: keep,
  },
  {
    label: 'Resident memory of one book, in MB',
    own: { benchmark: 'books', subject: 'one book', measure: 'MB' },
    convert: keep,
  },
  {
    label: 'Resident memory of twelve books, in MB',
    own: { benchmark: 'books', subject: '12 books', measure: 'MB' },
    convert: keep,
  },
  {
    label: 'Idle processor time of twelve books, percent of a core',
    own: { benchmark: 'books', subject: '12 books', measure: 'percent' },
    convert: keep,
  },
];

/** Returns the rows of the page "Speed": figures of the package, of its baseline and of its peer. */
export function formatSpeed(report: Report): string[] {
  const rows = ROWS.flatMap(({ question, label, own, baseline, peer, convert }) => {
    const format = ({ benchmark, subject, measure = 'time' }: Source) => {
      const figure = report[benchmark]?.subjects[subject]?.measured[measure];
      return figure === undefined ? 'not measured' : formatNumber(convert(figure.median));
    };
    const beside = (other: (Source & { readonly name: string }) | undefined) =>
      other === undefined ? '' : `${format(other)} (${other.name})`;
    const row = `| ${label} | ${format(own)} | ${beside(baseline)} | ${beside(peer)} |`;
    return question === undefined ? [row] : [`| **${question}** | | | |`, row];
  });
  return ['| figure | intentbook | baseline | peer |', '|---|---|---|---|', ...rows];
}

/** Formats a number with three significant digits and separators. */
function formatNumber(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString('en-US');
}

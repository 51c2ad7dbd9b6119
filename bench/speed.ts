import type { Figure, Report } from './report.ts';

/** A measured value of a subject. */
interface Source {
  readonly benchmark: string;
  readonly subject: string;
  /** Default: `time`, in microseconds. */
  readonly measure?: string;
}

/** A row of the page: one figure of the package, of its baseline and of its peer. */
interface Row {
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

const ROWS: readonly Row[] = [
  {
    label: 'Verified orders per second and core, native backend',
    own: verify('native'),
    baseline: { ...verify('recovery only, native'), name: 'recovery only' },
    peer: { ...verify('viem'), name: 'viem' },
    convert: perSecond,
  },
  {
    label: 'Verified orders per second and core, WebAssembly',
    own: verify('wasm'),
    baseline: { ...verify('recovery only, WebAssembly'), name: 'recovery only' },
    peer: { ...verify('viem'), name: 'viem' },
    convert: perSecond,
  },
  {
    label: 'Verified orders per second, two workers',
    own: verify('recoverMany, 2 workers'),
    baseline: { ...verify('recovery only, 2 threads'), name: 'recovery of one signature, in 2 threads' },
    convert: perSecond,
  },
  {
    label: 'CPU seconds to verify a million orders',
    own: verify('native'),
    baseline: { ...verify('recovery only, native'), name: 'recovery only' },
    peer: { ...verify('viem'), name: 'viem' },
    convert: keep,
  },
  {
    label: 'Durable orders per second, 256 concurrent',
    own: submit('256 concurrent'),
    baseline: { ...submit('recovery only, one commit per 128'), name: 'recovery, one commit per 128' },
    peer: { ...submit('viem, one commit per order'), name: 'viem, one commit per order' },
    convert: perSecond,
  },
  {
    label: 'The same with a write thread',
    own: submit('256 concurrent, write thread'),
    baseline: { ...submit('recovery only, one commit per 128'), name: 'recovery, one commit per 128' },
    convert: perSecond,
  },
  {
    label: 'Wait of a submission, 256 concurrent, median in ms',
    own: submit('256 concurrent', 'ms at p50'),
    convert: keep,
  },
  { label: 'The same, 99th percentile in ms', own: submit('256 concurrent', 'ms at p99'), convert: keep },
  {
    label: 'Wait of a read beside submissions at 70 % of the maximum, 99th percentile in ms',
    own: { benchmark: 'latency', subject: 'reads, no thread', measure: 'ms at p99' },
    convert: keep,
  },
  {
    label: 'The same with a write thread, in ms',
    own: { benchmark: 'latency', subject: 'reads, write thread', measure: 'ms at p99' },
    convert: keep,
  },
  {
    label: 'Commit to subscriber, 1,000 subscribers, 99th percentile in ms',
    own: { benchmark: 'latency', subject: 'stream', measure: 'ms at p99' },
    convert: keep,
  },
  {
    label: 'Reads of one order per second over HTTP',
    own: http('node:http'),
    baseline: { ...http('bare node:http'), name: 'bare node:http, same bytes' },
    convert: perSecond,
  },
  {
    label: 'Orders per second over HTTP, `by_uids` of 128',
    own: http('node:http', 'by_uids'),
    baseline: { ...http('bare node:http', 'by_uids'), name: 'bare node:http, same bytes' },
    convert: ordersPerSecond,
  },
  {
    label: 'Orders per second from a million in SQLite, `by_uids` of 128, uncached',
    own: { benchmark: 'by-uids', subject: 'uncached, 1M' },
    baseline: { benchmark: 'by-uids', subject: 'SQL statement, 1M', name: 'SQL statement' },
    convert: ordersPerSecond,
  },
  {
    label: 'Chain events per second, backfill',
    own: { benchmark: 'backfill', subject: 'intentbook' },
    peer: { benchmark: 'backfill', subject: 'viem and bulk insert', name: 'viem and bulk insert' },
    convert: perSecond,
  },
];

/** Returns the rows of the page "Speed": figures of the package, of its baseline and of its peer. */
export function formatSpeed(report: Report): string[] {
  const read = ({ benchmark, subject, measure = 'time' }: Source): Figure => {
    const figure = report[benchmark]?.subjects[subject]?.measured[measure];
    if (figure === undefined) throw new Error(`the benchmark ${benchmark} must have ${measure} of "${subject}"`);
    return figure;
  };
  const rows = ROWS.map(({ label, own, baseline, peer, convert }) => {
    const format = (source: Source) => formatNumber(convert(read(source).median));
    const beside = (other: (Source & { readonly name: string }) | undefined) =>
      other === undefined ? '' : `${format(other)} (${other.name})`;
    return `| ${label} | ${format(own)} | ${beside(baseline)} | ${beside(peer)} |`;
  });
  return ['| figure | intentbook | baseline | peer |', '|---|---|---|---|', ...rows];
}

/** Formats a number with three significant digits and separators. */
function formatNumber(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString('en-US');
}

/**
 * A suite of `npm run test:long`: a test that finds more the longer it runs.
 *
 * To add one, create `test/resilience/long/suites/<name>.ts` that exports `suite`. Its file name is its name:
 * `npm run test:long -- --suite <name> --minutes 1 --seed 7` runs it alone. Each suite has its own process and
 * PostgreSQL server (`test/support/postgres.ts` works), reads the sources, and finds `dist` built.
 *
 * A suite MUST end when its time is over, MUST repeat the same steps with the same seed as far as possible, and throws
 * on a finding. The runner keeps the seed of a finding and runs it first until it passes.
 */
export interface LongSuite {
  /** Description in one line. */
  readonly description: string;
  run(share: LongShare): Promise<void>;
}

/** Parameters of a suite. */
export interface LongShare {
  /** Duration from the call, in milliseconds. */
  readonly milliseconds: number;
  /** 0 to 2^31 - 1. */
  readonly seed: number;
  /** A folder that is kept between runs, for a corpus. It is not committed. */
  readonly folder: string;
  /** Adds to a counter, such as `sequences` or `executions`. Counters are summed over runs. */
  count(what: string, by?: number): void;
  /** Stores a figure that is not summed, such as a latency. The summary shows the last one. */
  note(what: string, figure: string | number): void;
}

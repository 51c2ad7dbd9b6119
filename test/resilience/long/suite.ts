/**
 * A suite of `npm run test:long`: a test that finds more the longer it runs.
 *
 * One registers by a file: `test/resilience/long/suites/<name>.ts` that exports `suite`. Nothing else is to be told; the file's name is
 * the suite's, `npm run test:long -- --suite <name> --minutes 1 --seed 7` plays it alone. Each suite has a process and a
 * PostgreSQL server of its own (`test/support/postgres.ts` works), reads the sources, and finds `dist` built.
 *
 * A suite MUST end by itself when its time is over, MUST do the same with the same seed as far as it can, and throws on
 * a finding. The runner keeps the seed of a finding and plays it first, until it passes.
 */
export interface LongSuite {
  /** What it tries, in a line. */
  readonly says: string;
  run(share: LongShare): Promise<void>;
}

/** What a suite is given. */
export interface LongShare {
  /** How long it may run, from the call on. */
  readonly milliseconds: number;
  /** 0 to 2^31 - 1. */
  readonly seed: number;
  /** A folder of its own that stays from run to run, for a corpus. It is not committed. */
  readonly folder: string;
  /** Counts what was done, such as `sequences` or `executions`. Counts add up over runs. */
  count(what: string, by?: number): void;
  /** Keeps a figure that does not add up, such as a latency: it is shown with the sum, in the place of the last run's. */
  note(what: string, figure: string | number): void;
}

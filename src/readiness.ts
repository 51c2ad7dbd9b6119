import type { Readiness } from './concurrency/lifecycle.ts';
import { type Clock, isRecent, readMonotonic } from './ports/clock.ts';
import { type Store, StoreError } from './ports/store.ts';
import type { UpstreamStatus } from './ports/upstream.ts';

/** Milliseconds for which the result of a check is reused, so that frequent requests cost nothing. */
const CHECK_INTERVAL = 1_000;

/**
 * Milliseconds after a failed insert in which the book is not ready, unless another insert succeeds. Afterwards one
 * insert decides again: a load balancer that sends nothing to the book would otherwise keep it unready.
 */
const FAILURE_PERIOD = 5_000;

export function createReadinessCheck({
  store,
  clock,
  assertStarted,
  chain,
  upstream,
}: {
  readonly store: Pick<Store, 'check'>;
  readonly clock: Clock;
  /** Throws a `StoreError` if the book is not started (`NotStarted`) or closed (`Closed`). */
  readonly assertStarted: () => void;
  readonly chain: {
    readonly state: string | undefined;
    checks(): Readonly<Record<string, string>>;
  };
  /** The state of the upstream, if the book has one. */
  readonly upstream: (() => UpstreamStatus) | undefined;
}) {
  // Times are milliseconds of `readMonotonic`.
  let checked: { readonly at: number; readonly result: Promise<void> } | undefined;
  let failed: { readonly at: number; readonly failure: StoreError } | undefined;

  /** Checks the store at most once per interval. A failed check is not reused: its cause may have ended. */
  function checkStore(): Promise<void> {
    if (checked !== undefined && isRecent(clock, checked.at, CHECK_INTERVAL)) return checked.result;
    const result = store.check();
    checked = { at: readMonotonic(clock), result };
    result.catch(() => {
      if (checked?.result === result) checked = undefined;
    });
    return result;
  }

  /** An upstream that cannot be reached does not make the book unready: it serves what it has. */
  function checks(): Readonly<Record<string, string>> {
    if (upstream === undefined) return chain.checks();
    const { paused, failing } = upstream();
    const states = Object.entries({ ...failing, ...paused }).map(([name, { reason }]) => `${name}: ${reason}`);
    return { ...chain.checks(), upstream: states.length === 0 ? 'ok' : states.join('; ') };
  }

  return {
    /** Returns whether the book can serve, and the state of each check. Never rejects. */
    async check(): Promise<Readiness> {
      try {
        assertStarted();
        await checkStore();
        if (failed !== undefined && isRecent(clock, failed.at, FAILURE_PERIOD)) throw failed.failure;
        return { ready: chain.state !== 'stopped', checks: { store: 'ok', ...checks() } };
      } catch (failure) {
        const code = failure instanceof StoreError ? failure.code : 'unavailable';
        return { ready: false, checks: { store: code, ...checks() } };
      }
    },
    /** Observes an insert and returns it. While inserts fail, the book is not ready, although the store responds. */
    observe<T>(insert: Promise<T>): Promise<T> {
      insert.then(
        () => {
          failed = undefined;
        },
        (failure: unknown) => {
          if (failure instanceof StoreError && failure.code !== 'Closed')
            failed = { at: readMonotonic(clock), failure };
        },
      );
      return insert;
    },
  };
}
